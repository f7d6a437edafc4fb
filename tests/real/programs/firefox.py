# SPDX-License-Identifier: MIT OR Apache-2.0
"""firefox-esr: --headless --screenshot of a page with a canvas and SVG, pixels compared; it has a malloc of its own.

Firefox brings its own malloc (in its executables) and replaces only the basic forms of operator new and delete.
"""

from harness.session import Session

PROFILE = """
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("browser.startup.homepage_override.mstone", "ignore");
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("toolkit.telemetry.enabled", false);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("app.normandy.enabled", false);
user_pref("browser.safebrowsing.update.enabled", false);
user_pref("services.settings.server", "");
user_pref("extensions.update.enabled", false);
user_pref("gfx.webrender.software", true);
user_pref("network.proxy.type", 1);
user_pref("network.proxy.socks", "127.0.0.1");
user_pref("network.proxy.socks_port", 9);
user_pref("network.proxy.socks_remote_dns", true);
"""


def run(session: Session) -> None:
    """Two pictures in two windows' sizes, from one profile."""
    session.bring_own_malloc("firefox-esr", "crashhelper")
    profile = session.work / "profile"
    profile.mkdir()
    (profile / "user.js").write_text(PROFILE)
    (session.work / "page.html").write_bytes((session.inputs / "page.html").read_bytes())
    session.as_ordinary_user()
    for name, size in (("wide.png", "1200,900"), ("narrow.png", "500,1400")):
        session.run("firefox-esr", "--headless", "--no-remote", "--profile", str(profile), f"--window-size={size}",
                    "--screenshot", str(session.work / name), f"file://{session.work}/page.html",
                    env={"MOZ_DISABLE_AUTO_SAFE_MODE": "1", "XDG_RUNTIME_DIR": str(session.work)})
    session.result("*.png")
