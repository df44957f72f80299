"""Serves the page and drives a headless Chromium through its DevTools protocol: see check-web.sh.

check_web.py FOLDER CHROMIUM OUT [SECONDS]: FOLDER has the page, OUT gets the pictures. Needs nothing beside Python.
FIRST_PAIRS_LIMIT: seconds after navigation within which 5,000 boxes must have their first pairs; 5 by default, more on a busy machine.
"""

import base64
import functools
import http.server
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

FLAGS = """--headless=new --no-sandbox --disable-quic --no-first-run --disable-background-networking
--disable-component-update --disable-sync --enable-unsafe-webgpu --use-webgpu-adapter=swiftshader --enable-features=Vulkan
--use-vulkan=swiftshader --use-gl=angle --use-angle=swiftshader --enable-unsafe-swiftshader --ignore-gpu-blocklist
--disable-vulkan-surface --window-size=1200,800 --remote-debugging-port=0""".split()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class DevTools:
    """A connection to one page, of which messages are answered one after the other."""

    def __init__(self, address):
        url = urllib.parse.urlparse(address)
        self.socket = socket.create_connection((url.hostname, url.port))
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            f"GET {url.path} HTTP/1.1\r\nHost: {url.netloc}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        self.stream = self.socket.makefile("rb")
        while self.stream.readline().strip():
            pass
        self.number = 0
        self.console = []

    def receive(self):
        text = b""
        while True:
            first, second = self.stream.read(2)
            length = second & 127
            if length >= 126:
                size, code = (2, "!H") if length == 126 else (8, "!Q")
                (length,) = struct.unpack(code, self.stream.read(size))
            part = self.stream.read(length)
            if first & 15 in (0, 1):
                text += part
                if first & 128:
                    return json.loads(text)

    def call(self, method, **arguments):
        self.number += 1
        message = json.dumps({"id": self.number, "method": method, "params": arguments}).encode()
        size = len(message)
        head = bytes([129, 128 | size]) if size < 126 else struct.pack("!BBH", 129, 128 | 126, size)
        # A mask of zeros is one.
        self.socket.sendall(head + bytes(4) + message)
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(answer["error"]["message"])
                return answer["result"]
            self.note(answer)

    def note(self, event):
        """Keeps what was written to the console as an error or a warning, and exceptions that nobody caught."""
        parameters = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.console.append(parameters["exceptionDetails"].get("exception", {}).get("description", "an exception"))
        elif event.get("method") == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "assert"):
            self.console.append(" ".join(str(part.get("value", part.get("description"))) for part in parameters["args"]))
        elif event.get("method") == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.console.append(parameters["entry"]["text"])

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"].get("description"))
        return result["result"].get("value")


def open_page(browser_address, address):
    with urllib.request.urlopen(f"http://{browser_address}/json") as pages:
        page = next(page for page in json.load(pages) if page["type"] == "page")
    tools = DevTools(page["webSocketDebuggerUrl"])
    for domain in ("Runtime", "Log", "Page"):
        tools.call(f"{domain}.enable")
    tools.call("Page.navigate", url=address)
    return tools


def outcome(tools, seconds, is_done):
    """Waits until the page says so, and fails when it reports an error."""
    end = time.monotonic() + seconds
    said = {}
    while time.monotonic() < end:
        time.sleep(0.5)
        said = tools.value("window.broadsweep ?? {}")
        errors = said.get("errors", []) + tools.console
        if errors:
            raise SystemExit("FAILED: the page reports:\n" + "\n".join(errors))
        if said and is_done(said):
            return said
    raise SystemExit(f"FAILED: the page was not done after {seconds} seconds; it says {said}")


PICTURE = """new Promise((resolve) => {
    const canvas = document.getElementById("canvas");
    const copy = document.createElement("canvas");
    [copy.width, copy.height] = [canvas.width, canvas.height];
    const context = copy.getContext("2d", { willReadFrequently: true });
    const image = new Image();
    image.style = "position: absolute; inset: 0; width: 100%; height: 100%";
    let looks = 0;
    const look = () => (image.src = canvas.toDataURL());
    image.onload = () => {
        context.drawImage(image, 0, 0);
        const colors = new Set(new Uint32Array(context.getImageData(0, 0, copy.width, copy.height).data.buffer)).size;
        // Between two frames a canvas of WebGPU may be empty.
        if (colors < 30 && ++looks < 50) return setTimeout(look, 37);
        // A screenshot does not show it on every system: it is laid over the canvas.
        canvas.after(image);
        requestAnimationFrame(() => resolve(colors));
    };
    look();
})"""


def picture(tools, file):
    """Saves what the page shows, and returns how many colours there are in the canvas."""
    colors = tools.value(PICTURE)
    shot = tools.call("Page.captureScreenshot", format="png")["data"]
    with open(file, "wb") as out:
        out.write(base64.b64decode(shot))
    return colors


def run(browser_address, page, out, seconds):
    def show(query, name, is_done):
        tools = open_page(browser_address, f"{page}/?{query}")
        said = outcome(tools, seconds, is_done)
        colors = picture(tools, os.path.join(out, f"{name}.png"))
        print(f"{name}: {said['status']}")
        for line in said["lines"]:
            print(f"  {line}")
        # After a comparison the time is that of the comparison.
        if said["firstPairs"] is not None and not said["lines"]:
            print(f"  first pairs {said['firstPairs'] / 1000:.1f} s after navigation")
        return said, colors

    said, first = show("", "first", lambda said: said["frames"] > 0)
    # 3 to 4 s on two idle cores; 16.5 s if the first frame waits for all kernels.
    limit = float(os.environ.get("FIRST_PAIRS_LIMIT", "5"))
    if said["firstPairs"] is None or said["firstPairs"] > 1000 * limit:
        raise SystemExit(f"FAILED: the first pairs came {said['firstPairs']} ms after navigation, not within {limit} s")
    said, colors = show("check&scene=pile&n=3000", "page", lambda said: said["frames"] > 20)
    if not said["lines"] or not said["lines"][-1].endswith("comparisons, all the same"):
        raise SystemExit("FAILED: the engines were not compared")
    shown = {"first": first, "page": colors}
    shown["clusters"] = show("scene=clusters&n=20000", "clusters", lambda said: said["frames"] > 8)[1]
    shown["cpu"] = show("engine=cpu&n=3000", "cpu", lambda said: said["frames"] > 30)[1]
    # A browser without WebGPU.
    tools = open_page(browser_address, "about:blank")
    tools.call(
        "Page.addScriptToEvaluateOnNewDocument",
        source="Object.defineProperty(Navigator.prototype, 'gpu', { get: () => undefined });",
    )
    tools.call("Page.navigate", url=f"{page}/")
    said = outcome(tools, seconds, lambda said: said["frames"] > 30)
    notice = tools.value("document.getElementById('notice').textContent")
    print(f"without WebGPU: {notice} {said['status']}")
    if "Chrome" not in notice or "CPU engine" not in said["status"]:
        raise SystemExit("FAILED: nothing stands in for WebGPU")
    shown["without"] = picture(tools, os.path.join(out, "without.png"))
    for name, colors in shown.items():
        if colors < 30:
            raise SystemExit(f"FAILED: the canvas of '{name}' has {colors} colours: nothing is to be seen")
    print(f"no error in the console; pictures in {out}")


def main():
    folder, chromium, out = sys.argv[1:4]
    seconds = float(sys.argv[4]) if len(sys.argv) > 4 else 240
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    profile = tempfile.mkdtemp()
    log = open(os.path.join(out, "chromium.txt"), "w")
    browser = subprocess.Popen([chromium, *FLAGS, f"--user-data-dir={profile}", "about:blank"], stdout=log, stderr=log)
    try:
        port_file = os.path.join(profile, "DevToolsActivePort")
        for _ in range(200):
            if os.path.exists(port_file) and os.path.getsize(port_file):
                break
            time.sleep(0.1)
        else:
            raise SystemExit(f"FAILED: {chromium} does not start; {log.name} says why")
        with open(port_file) as file:
            port = file.readline().strip()
        run(f"127.0.0.1:{port}", f"http://127.0.0.1:{server.server_port}", out, seconds)
    finally:
        browser.terminate()
        browser.wait()
        shutil.rmtree(profile, ignore_errors=True)


main()
