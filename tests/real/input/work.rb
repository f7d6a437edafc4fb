# SPDX-License-Identifier: MIT OR Apache-2.0
# work.rb: the standard library's gems (json, yaml, csv, set, digest, zlib, erb, strscan, bigdecimal, stringio), threads
# with queues, fibers, the collector with compaction, a forked child.
require "bigdecimal"
require "csv"
require "digest"
require "erb"
require "json"
require "set"
require "stringio"
require "strscan"
require "yaml"
require "zlib"

RNG = Random.new(20240229)

def show(what, value)
  puts "#{what}: #{value.is_a?(String) ? value : value.inspect}"
end

def md5(text) = Digest::MD5.hexdigest(text)

def records(count)
  Array.new(count) do |i|
    { "id" => i, "name" => "größe #{i}", "tags" => Array.new(i % 11) { |t| "t#{t}" }, "value" => RNG.rand }
  end
end

def formats
  data = records(4000)
  text = JSON.pretty_generate(data)
  show "json", [md5(text), JSON.parse(text) == data]
  yaml = data.first(600).to_yaml
  show "yaml", [md5(yaml), YAML.load(yaml).size]
  table = CSV.generate { |csv| data.each { |row| csv << row.values_at("id", "name", "value") } }
  show "csv", [md5(table), CSV.parse(table).size]
  JSON.parse("{broken")
rescue JSON::ParserError
  show "json error", "caught"
end

def texts
  text = "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich. " * 2000
  show "gsub", md5(text.gsub(/\p{L}+/) { |w| w.reverse })
  show "zlib", [Zlib.crc32(text), Zlib::Inflate.inflate(Zlib::Deflate.deflate(text, 9)).force_encoding("UTF-8") == text]
  scanner = StringScanner.new(text)
  words = 0
  words += 1 while scanner.scan_until(/\w+/)
  show "scanner", words
  show "erb", md5(ERB.new("<% 500.times do |i| %><p><%= i * 3 %></p>\n<% end %>").result)
  show "bigdecimal", BigDecimal("2").sqrt(300).to_s[0, 320]
  show "integers", md5((1..2000).inject(:*).to_s)
end

def threads
  queue, done = Queue.new, Queue.new
  workers = Array.new(6) do
    Thread.new do
      while (n = queue.pop) != :end
        done << [n, md5((["line #{n}"] * 500).join("\n"))]
      end
    end
  end
  600.times { |n| queue << n }
  6.times { queue << :end }
  workers.each(&:join)
  results = Array.new(done.size) { done.pop }.sort
  show "threads", md5(results.inspect)
  fiber = Fiber.new { 3000.times { |i| Fiber.yield "x" * i } }
  show "fibers", Array.new(3000) { fiber.resume.size }.sum
end

def objects
  kept = {}
  150_000.times { |i| kept[i % 5000] = Struct.new(:a, :b).new(i, "s#{i}" * (i % 13)) if (i % 50).zero?; "garbage #{i}" * 3 }
  GC.start
  GC.compact if GC.respond_to?(:compact)
  show "objects", [kept.size, kept.values.sum { |s| s.b.size }]
  show "sets", (Set.new(1..20_000) & Set.new(10_000..30_000)).size
  show "sort", md5(Array.new(60_000) { RNG.rand(1 << 40) }.sort.pack("Q*"))
end

def children
  reader, writer = IO.pipe
  pid = fork do
    reader.close
    writer.write(md5(records(500).to_s))
    writer.close
    exit!(7)
  end
  writer.close
  show "child", [reader.read, Process.wait2(pid)[1].exitstatus]
  show "shell", `echo from a shell`
end

%i[formats texts threads objects children].each { |part| send(part) }
