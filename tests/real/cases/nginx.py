# SPDX-License-Identifier: MIT OR Apache-2.0
"""nginx: static files, gzip, a caching proxy, 200 connections at once (ab), reload under load, graceful stop."""

import random

from harness.session import Session
from harness.web import fetch, finish_load, free_port, listens, load, start_load

CONFIGURATION = """
worker_processes 2;
daemon off;
pid nginx.pid;
error_log error.log warn;
events {{ worker_connections 1024; }}
http {{
  access_log access.log;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  proxy_cache_path cache keys_zone=pages:1m;
  types {{ text/html html; text/plain txt; }}
  gzip on;
  gzip_proxied any;
  gzip_types text/plain;
  server {{
    listen 127.0.0.1:{port};
    root files;
    location /list/ {{ autoindex on; }}
    location /proxy/ {{
      proxy_pass http://127.0.0.1:{port}/;
      proxy_cache pages;
      proxy_cache_valid 200 1m;
    }}
  }}
}}
"""
LOG = "server.log"
NGINX = ("nginx", "-p", ".", "-c", "nginx.conf", "-e", "error.log")


def write_files(session: Session, port: int) -> None:
    """The configuration and what is served; the dates of listed files are fixed by `touch`."""
    rng = random.Random(20240229)
    folder = session.work / "files"
    (folder / "list").mkdir(parents=True)
    (folder / "page.html").write_text("<p>" + "some words and more words " * 800)
    (folder / "data.txt").write_text("\n".join(str(rng.randrange(1 << 60)) for _ in range(20000)))
    (folder / "large.bin").write_bytes(rng.randbytes(8 << 20))
    (session.work / "nginx.conf").write_text(CONFIGURATION.format(port=port))


def run(session: Session) -> None:
    """Pages compared, load with and without kept connections, compressed, through the proxy, a reload in between."""
    port = free_port()
    write_files(session, port)
    session.as_ordinary_user()
    session.run(*NGINX, "-t")
    server = session.start(*NGINX, log=LOG, more_logs=("error.log",))
    session.wait_until(lambda: listens(port), server, LOG)
    for path in ("page.html", "data.txt", "large.bin", "list/", "proxy/data.txt", "none"):
        fetch(session, port, f"/{path}", path)
    load(session, port, "/page.html", "-k", "-n", "6000", "-c", "200")
    load(session, port, "/data.txt", "-n", "300", "-c", "50", "-H", "Accept-Encoding: gzip")
    load(session, port, "/proxy/page.html", "-n", "1500", "-c", "100")
    load(session, port, "/large.bin", "-n", "60", "-c", "20")
    clients = start_load(session, port, "/page.html", "-n", "3000", "-c", "50")
    session.run(*NGINX, "-s", "reload")
    finish_load(session, clients)
    fetch(session, port, "/proxy/data.txt", "after the reload")
    session.run(*NGINX, "-s", "quit")
    session.finish(server, "nginx")
