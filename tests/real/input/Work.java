/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Work.java: threads that share queues, maps and a fork-join pool, garbage of all sizes, strings, compression, direct
// buffers (malloc), files, reflection, exceptions with deep stacks. Prints checksums only.

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.zip.CRC32;
import java.util.zip.Deflater;
import java.util.zip.Inflater;

public final class Work {
    private static int scale = 10;

    private static void show(String what, Object value) {
        System.out.println(what + ": " + value);
    }

    private static String sha(byte[] data) throws Exception {
        StringBuilder text = new StringBuilder();
        for (byte b : MessageDigest.getInstance("SHA-256").digest(data)) {
            text.append(String.format("%02x", b));
        }
        return text.toString();
    }

    private static void collections() throws Exception {
        Map<String, List<Integer>> map = new TreeMap<>();
        Random random = new Random(20240229);
        for (int i = 0; i < 20000 * scale; i++) {
            map.computeIfAbsent("k" + random.nextInt(5000), k -> new ArrayList<>()).add(i);
        }
        show("map", sha(map.toString().getBytes(StandardCharsets.UTF_8)));
        show("streams", IntStream.range(0, 100000 * scale).parallel().mapToLong(i -> (long) i * i % 977).sum());
        show("groups", IntStream.range(0, 5000 * scale).boxed().parallel()
            .collect(Collectors.groupingBy(i -> i % 17, TreeMap::new, Collectors.counting())));
    }

    private static void threads() throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(6);
        Map<Integer, byte[]> shared = new ConcurrentHashMap<>();
        LongAdder count = new LongAdder();
        List<Callable<Long>> tasks = new ArrayList<>();
        for (int n = 0; n < 40 * scale; n++) {
            int number = n;
            tasks.add(() -> {
                Random random = new Random(number);
                long sum = 0;
                for (int i = 0; i < 2000; i++) {
                    byte[] block = new byte[random.nextInt(i % 100 == 0 ? 200000 : 600)];
                    Arrays.fill(block, (byte) i);
                    shared.put(random.nextInt(500), block);
                    sum += block.length;
                }
                count.add(sum);
                return sum;
            });
        }
        long sum = 0;
        for (Future<Long> result : pool.invokeAll(tasks)) {
            sum += result.get();
        }
        pool.shutdown();
        show("threads", sum + " " + (sum == count.sum()) + " " + shared.size());
    }

    private static void compression() throws Exception {
        byte[] text = "a line of text, and another one\n".repeat(20000 * scale).getBytes(StandardCharsets.UTF_8);
        for (int level : new int[] {1, 6, 9}) {
            Deflater deflater = new Deflater(level);
            deflater.setInput(text);
            deflater.finish();
            byte[] packed = new byte[text.length];
            int length = deflater.deflate(packed);
            deflater.end();
            Inflater inflater = new Inflater();
            inflater.setInput(packed, 0, length);
            byte[] back = new byte[text.length];
            inflater.inflate(back);
            inflater.end();
            show("deflate " + level, length + " " + Arrays.equals(text, back));
        }
    }

    private static void buffers() {
        CRC32 crc = new CRC32();
        for (int i = 0; i < 60 * scale; i++) {
            ByteBuffer buffer = ByteBuffer.allocateDirect(1 + (i * 7919) % 300000);
            while (buffer.hasRemaining()) {
                buffer.put((byte) buffer.position());
            }
            buffer.flip();
            crc.update(buffer);
        }
        show("direct", crc.getValue());
    }

    private static int deep(int n) {
        return n == 0 ? Integer.parseInt("no number") : deep(n - 1) + 1;
    }

    private static void failures() throws IOException {
        int caught = 0;
        for (int i = 0; i < 200 * scale; i++) {
            try {
                deep(i % 300);
            } catch (NumberFormatException e) {
                caught += e.getStackTrace().length > 0 ? 1 : 0;
            }
        }
        show("exceptions", caught);
        try {
            List<long[]> kept = new ArrayList<>();
            while (true) {
                kept.add(new long[1 << 20]);
            }
        } catch (OutOfMemoryError e) {
            show("memory", e.getMessage());
        }
    }

    private static void files() throws Exception {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        Path path = Path.of("words.txt");
        for (int i = 0; i < 20 * scale; i++) {
            Files.writeString(path, "größe " + i + "\n".repeat(i % 50));
            all.write(Files.readAllBytes(path));
        }
        show("files", sha(all.toByteArray()));
        Map<String, Integer> methods = new HashMap<>();
        for (var method : String.class.getDeclaredMethods()) {
            methods.merge(method.getName(), 1, Integer::sum);
        }
        show("reflection", methods.size());
    }

    public static void main(String[] arguments) throws Exception {
        scale = arguments.length > 0 ? 1 : 10;
        collections();
        threads();
        compression();
        buffers();
        failures();
        files();
    }
}
