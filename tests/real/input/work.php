<?php
/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// work.php: json, mbstring, regular expressions, xml, sqlite by PDO, compression, hashes, generators, cycles of objects
// for the collector; pictures, big numbers and collation where their extensions are there. Prints checksums; nothing depends on time or on the hash seed.

mt_srand(20240229);

function show(string $what, mixed $value): void
{
    echo $what, ": ", is_string($value) || is_int($value) ? $value : json_encode($value), "\n";
}

final class Node
{
    public array $others = [];
    public function __construct(public int $n, public string $text) {}
}

function records(int $count): Generator
{
    for ($i = 0; $i < $count; $i++) {
        yield ["id" => $i, "name" => "größe $i", "tags" => array_map(fn($t) => "t$t", range(0, $i % 17)),
               "value" => mt_rand() / 7, "nested" => ["a" => [$i, [$i + 1, [$i + 2]]]]];
    }
}

function json_work(): void
{
    $text = json_encode(iterator_to_array(records(6000)), JSON_UNESCAPED_UNICODE | JSON_PRETTY_PRINT);
    $back = json_decode($text, true, flags: JSON_THROW_ON_ERROR);
    show("json", md5($text) . " " . count($back) . " " . md5(serialize($back)));
    try {
        json_decode("{broken", flags: JSON_THROW_ON_ERROR);
    } catch (JsonException $e) {
        show("json error", $e->getMessage());
    }
}

function text_work(): void
{
    $text = str_repeat("Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich. ", 3000);
    show("mb", [mb_strlen($text), md5(mb_strtoupper($text)), md5(mb_convert_encoding($text, "UTF-16LE", "UTF-8")),
                md5(implode("|", mb_str_split(mb_substr($text, 0, 40000), 7)))]);
    show("preg", [preg_match_all('/\b(\w+)ä(\w+)\b/u', $text, $m), md5(serialize($m)),
                  md5(preg_replace_callback('/\w+/u', fn($w) => strrev($w[0]), $text))]);
    show("zlib", [md5(gzuncompress(gzcompress($text, 9))), hash("sha256", $text), crc32($text)]);
}

function xml_work(): void
{
    $document = new DOMDocument("1.0", "UTF-8");
    $root = $document->appendChild($document->createElement("library"));
    for ($i = 0; $i < 3000; $i++) {
        $book = $root->appendChild($document->createElement("book", "title $i and more"));
        $book->setAttribute("id", "b$i");
        $book->setAttribute("shelf", (string)($i % 31));
    }
    $text = $document->saveXML();
    $paths = new DOMXPath($document);
    show("dom", [strlen($text), md5($text), $paths->query("//book[@shelf='7']")->length]);
    $simple = simplexml_load_string($text);
    show("simplexml", [count($simple->book), (string)$simple->book[2999]["id"]]);
    $reader = new XMLReader();
    $reader->XML($text);
    for ($elements = 0; $reader->read();) {
        $elements += $reader->nodeType === XMLReader::ELEMENT;
    }
    show("reader", $elements);
    libxml_use_internal_errors(true);
    show("bad xml", [simplexml_load_string("<a><b></a>"), count(libxml_get_errors())]);
}

function database_work(): void
{
    $db = new PDO("sqlite::memory:", options: [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
    $db->exec("CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, price REAL, body BLOB)");
    $insert = $db->prepare("INSERT INTO item (name, price, body) VALUES (?, ?, ?)");
    $db->beginTransaction();
    for ($i = 0; $i < 20000; $i++) {
        $insert->execute(["item $i", $i * 1.25, str_repeat(chr(65 + $i % 26), $i % 300)]);
    }
    $db->commit();
    $db->sqliteCreateFunction("twice", fn($x) => 2 * $x, 1);
    $rows = $db->query("SELECT id % 13 AS k, count(*) n, sum(twice(price)) s, max(length(body)) m FROM item GROUP BY k")
               ->fetchAll(PDO::FETCH_ASSOC);
    show("pdo", md5(json_encode($rows)));
    try {
        $db->exec("INSERT INTO item (id) VALUES (1)");
    } catch (PDOException $e) {
        show("pdo error", $e->getMessage());
    }
}

function object_work(): void
{
    $kept = [];
    for ($i = 0; $i < 60000; $i++) {
        $node = new Node($i, str_repeat("x", $i % 90));
        $node->others[] = $node;
        if ($i % 100 === 0) {
            $kept[] = $node;
        }
    }
    unset($node);
    gc_collect_cycles();
    show("objects", [count($kept), array_sum(array_map(fn($n) => strlen($n->text), $kept))]);
    $big = new SplFixedArray(300000);
    for ($i = 0; $i < 300000; $i++) {
        $big[$i] = ($i * 7919) % 300007;
    }
    $sorted = $big->toArray();
    sort($sorted);
    show("spl", md5(pack("V*", ...array_slice($sorted, 0, 20000))));
}

function files_work(): void
{
    $words = fopen("words.csv", "w");
    foreach (records(2000) as $row) {
        fputcsv($words, [$row["id"], $row["name"], implode(" ", $row["tags"])]);
    }
    fclose($words);
    show("csv", md5_file("words.csv"));
}

function picture_work(): void
{
    $picture = imagecreatetruecolor(640, 480);
    for ($i = 0; $i < 400; $i++) {
        $colour = imagecolorallocate($picture, $i % 256, ($i * 7) % 256, ($i * 13) % 256);
        imagefilledellipse($picture, ($i * 37) % 640, ($i * 53) % 480, 10 + $i % 90, 10 + $i % 70, $colour);
    }
    $half = imagescale(imagerotate($picture, 30, 0), 320);
    imagefilter($half, IMG_FILTER_GAUSSIAN_BLUR);
    ob_start();
    imagepng($half);
    $png = ob_get_clean();
    show("gd", [md5($png), imagesx(imagecreatefromstring($png))]);
}

function extension_work(): void
{
    if (extension_loaded("gd")) {
        picture_work();
    }
    if (extension_loaded("gmp") && extension_loaded("bcmath")) {
        show("numbers", [md5(gmp_strval(gmp_fact(3000))), bcsqrt("2", 200)]);
    }
    if (extension_loaded("intl")) {
        $names = ["Zürich", "Ähre", "Ofen", "Öl", "apfel", "Apfel"];
        (new Collator("de_DE"))->sort($names);
        show("intl", [$names, Normalizer::normalize("a\u{308}"), (new NumberFormatter("de_DE", 1))->format(1234567.891)]);
    }
}

foreach (["json", "text", "xml", "database", "object", "files", "extension"] as $work) {
    ("{$work}_work")();
}
