# SPDX-License-Identifier: MIT OR Apache-2.0
"""apache2 with mod_php: json, xml, sqlite and sessions, 400 requests by ab, graceful restart under load."""

import shutil
import signal

from harness.session import Session
from harness.web import fetch, finish_load, free_port, listens, load, start_load

CONFIGURATION = """
ServerRoot "{work}"
ServerName localhost
Listen 127.0.0.1:{port}
PidFile apache.pid
Mutex file:{work}
ErrorLog error.log
DocumentRoot "{work}/files"
LoadModule mpm_prefork_module {modules}/mod_mpm_prefork.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule dir_module {modules}/mod_dir.so
LoadModule deflate_module {modules}/mod_deflate.so
LoadModule filter_module {modules}/mod_filter.so
LoadModule mime_module {modules}/mod_mime.so
LoadModule php_module {modules}/libphp8.2.so
TypesConfig /etc/mime.types
StartServers 3
MinSpareServers 2
MaxSpareServers 6
MaxRequestWorkers 12
MaxConnectionsPerChild 60
php_admin_value session.save_path "{work}"
php_admin_value date.timezone UTC
<FilesMatch "\\.php$">
  SetHandler application/x-httpd-php
</FilesMatch>
AddOutputFilterByType DEFLATE text/plain
"""
MODULES = "/usr/lib/apache2/modules"
LOG = "server.log"
APACHE = ("apache2", "-d", ".", "-f", "apache.conf")


def write_files(session: Session, port: int) -> None:
    """The configuration, the page and PHP's own test script."""
    (session.work / "files").mkdir()
    for name in ("page.php", "work.php"):
        shutil.copy(session.inputs / name, session.work / "files" / name)
    text = CONFIGURATION.format(work=session.work, port=port, modules=MODULES)
    (session.work / "apache.conf").write_text(text)


def run(session: Session) -> None:
    """Pages compared, load, a graceful restart while clients wait, load after it, a graceful stop."""
    port = free_port()
    write_files(session, port)
    session.as_ordinary_user()
    session.run(*APACHE, "-M")
    server = session.start(*APACHE, "-DFOREGROUND", log=LOG, more_logs=("error.log",))
    session.wait_until(lambda: listens(port), server, LOG)
    for n in range(10):
        fetch(session, port, f"/page.php?n={n}", f"page {n}")
    fetch(session, port, "/none", "none")
    load(session, port, "/page.php?n=3", "-l", "-n", "200", "-c", "8")
    clients = start_load(session, port, "/page.php?n=4", "-l", "-n", "100", "-c", "4")
    session.notify(server, "apache2", signal.SIGUSR1)
    finish_load(session, clients)
    fetch(session, port, "/page.php?n=99", "after the restart")
    load(session, port, "/page.php?n=5", "-l", "-k", "-n", "100", "-c", "8", "-H", "Accept-Encoding: gzip")
    session.stop(server, "apache2", signal.SIGTERM)
