# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the servers of the front are started with and asked: settings, scripts and a body, made on the spot."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

SEED = 20261124


# ---- nginx ----

def nginx_settings() -> str:
    return """\
worker_processes 2;
daemon off;
pid nginx.pid;
error_log error.log warn;
events { worker_connections 512; }
http {
  access_log access.log;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  proxy_cache_path cache keys_zone=pages:1m;
  proxy_buffers 32 64k;
  proxy_buffer_size 64k;
  proxy_busy_buffers_size 1m;
  types { text/html html; text/plain txt; }
  gzip on;
  gzip_proxied any;
  gzip_comp_level 3;
  gzip_types text/plain;
  server {
    listen 127.0.0.1:{port};
    root files;
    location /proxy/ { proxy_pass http://127.0.0.1:{port}/; }
    location /cached/ { proxy_pass http://127.0.0.1:{port}/; proxy_cache pages; proxy_cache_valid 200 1m; }
  }
}
"""


# ---- apache and PHP ----

APACHE_MODULES = Path("/usr/lib/apache2/modules")
APACHE_LOADED = ("mpm_prefork", "authz_core", "dir", "deflate", "filter", "mime")


def php_module() -> str:
    found = sorted(APACHE_MODULES.glob("libphp*.so"))
    return str(found[-1]) if found else str(APACHE_MODULES / "libphp.so")


def apache_settings() -> str:
    loaded = "\n".join(f"LoadModule {name}_module {APACHE_MODULES}/mod_{name}.so" for name in APACHE_LOADED)
    return f"""\
ServerRoot "{{folder}}"
ServerName localhost
Listen 127.0.0.1:{{port}}
PidFile apache.pid
Mutex file:{{folder}}
ErrorLog error.log
DocumentRoot "{{folder}}"
{loaded}
LoadModule php_module {php_module()}
TypesConfig /etc/mime.types
StartServers 2
MinSpareServers 1
MaxSpareServers 4
MaxRequestWorkers 8
php_admin_value date.timezone UTC
php_admin_value memory_limit 256M
<FilesMatch "\\.php$">
  SetHandler application/x-httpd-php
</FilesMatch>
AddOutputFilterByType DEFLATE text/html application/json
"""


def page() -> str:
    return """\
<?php
mt_srand((int)($_GET['n'] ?? 1));
$rows = [];
for ($i = 0; $i < (int)($_GET['rows'] ?? 500); $i++)
  $rows[] = ['id' => $i, 'name' => md5((string)mt_rand()), 'tags' => array_map('dechex', range($i, $i + 12)),
             'text' => str_repeat(chr(97 + $i % 26), mt_rand(10, 2000))];
usort($rows, fn($a, $b) => strcmp($a['name'], $b['name']));
$text = json_encode($rows);
$back = json_decode($text, true);
$found = preg_match_all('/"name":"([0-9a-f]{4})/', $text, $names);
header('Content-Type: application/json');
echo json_encode(['found' => $found, 'sum' => crc32(gzcompress($text, 1)), 'first' => array_slice($back, 0, 40)]);
"""


# ---- JSON over HTTP ----

def order() -> str:
    """A body of some 300 KB."""
    random = Random(SEED)
    words = ["".join(random.choices("abcdefghijklmnop", k=random.randint(3, 12))) for _ in range(2000)]
    rows = [{"id": n, "name": random.choice(words), "place": {"x": n / 7, "y": -n}, "tags": random.sample(words, 4),
             "text": " ".join(random.choices(words, k=random.randint(1, 30)))} for n in range(1200)]
    return json.dumps(rows)


def node_server() -> str:
    return """\
const http = require('http'), zlib = require('zlib'), crypto = require('crypto');
const recent = [];
http.createServer((request, response) => {
  const parts = [];
  request.on('data', (part) => parts.push(part));
  request.on('end', () => {
    if (request.method === 'GET') return response.end('ready');
    const body = Buffer.concat(parts), rows = JSON.parse(body);
    rows.sort((a, b) => (a.name < b.name ? -1 : 1));
    const text = Buffer.from(JSON.stringify({ rows, sum: crypto.createHash('sha256').update(body).digest('hex') }, null, 1));
    recent.push(text);
    if (recent.length > 24) recent.splice(0, 12);
    zlib.gzip(text, { level: 1 }, (error, packed) => response.end(packed));
  });
}).listen(Number(process.argv[2]), '127.0.0.1');
"""


def python_server() -> str:
    return """\
import gzip, hashlib, json, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

recent = []


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer(b"ready")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        rows = sorted(json.loads(body), key=lambda row: row["name"])
        text = json.dumps({"rows": rows, "sum": hashlib.sha256(body).hexdigest()}, indent=1).encode()
        recent.append(text)
        if len(recent) > 24:
            del recent[:12]
        self.answer(gzip.compress(text, 1))

    def answer(self, text):
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *words):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 64


Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


# ---- databases ----

def postgres_tables() -> str:
    return """\
CREATE TABLE item (id int PRIMARY KEY, name text, tags text[], body jsonb) WITH (autovacuum_enabled = off);
INSERT INTO item SELECT i, 'item ' || md5(i::text), ARRAY['t' || i % 7, 't' || i % 11],
  jsonb_build_object('n', i, 'list', to_jsonb(ARRAY[i, i + 1, i * 2])) FROM generate_series(1, 60000) i;
ANALYZE item;
"""


def postgres_questions() -> str:
    return """\
SET work_mem = '48MB';
SELECT md5(string_agg(name, ',' ORDER BY name COLLATE "C" DESC)) FROM item;
SELECT count(*) FROM (SELECT body->'n' AS n, array_agg(tags) FROM item GROUP BY 1) g;
SELECT count(*) FROM item a JOIN item b ON a.id = (b.body->>'n')::int WHERE a.tags && ARRAY['t3'];
SELECT length(jsonb_agg(body)::text) FROM item WHERE id % 2 = 0;
WITH RECURSIVE t(n, s) AS (SELECT 1, '1' UNION ALL SELECT n + 1, s || ',' || n FROM t WHERE n < 2000)
  SELECT md5(max(s)) FROM t;
"""


def mariadb_tables() -> str:
    return """\
CREATE DATABASE work CHARACTER SET utf8mb4; USE work;
CREATE TABLE author (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(80), KEY (name)) ENGINE=InnoDB;
CREATE TABLE book (id INT PRIMARY KEY, author INT, title TEXT, extra JSON, price DECIMAL(9,2), KEY (author)) ENGINE=InnoDB;
INSERT INTO author (name) SELECT CONCAT('author ', seq) FROM seq_1_to_500;
INSERT INTO book SELECT seq, 1 + seq % 500, CONCAT('title ', MD5(seq)), JSON_OBJECT('n', seq, 'list', JSON_ARRAY(seq, seq * 2)),
  seq / 7 FROM seq_1_to_40000;
"""


def mariadb_questions() -> str:
    return """\
USE work; SET sort_buffer_size = 16777216, tmp_table_size = 67108864, max_heap_table_size = 67108864;
SET group_concat_max_len = 8388608, join_buffer_size = 8388608;
SELECT a.name, COUNT(*), SUM(b.price), MIN(b.title) FROM book b JOIN author a ON a.id = b.author
  GROUP BY a.id ORDER BY SUM(b.price) DESC, a.name LIMIT 40;
SELECT MD5(GROUP_CONCAT(title ORDER BY title SEPARATOR ',')) FROM book;
SELECT COUNT(*), SUM(JSON_VALUE(extra, '$.list[1]')) FROM book WHERE JSON_VALUE(extra, '$.n') % 3 = 0;
SELECT COUNT(*) FROM (SELECT DISTINCT title, price FROM book ORDER BY price DESC, title) t;
SELECT id, RANK() OVER (PARTITION BY author ORDER BY price DESC) r FROM book ORDER BY r DESC, id LIMIT 50;
"""
