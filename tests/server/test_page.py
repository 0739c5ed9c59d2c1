"""The live page in a real browser: Chromium, without a screen, driven over its DevTools protocol."""

import base64
import contextlib
import json
import os
import shutil
import struct
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest
from websockets.sync.client import connect

BROWSER = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)


class Browser:
    """One page of a browser."""

    def __init__(self, folder):
        assert BROWSER, "the browser test needs chromium; on Debian: apt-get install chromium"
        flags = (
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--remote-debugging-port=0",
            "--autoplay-policy=no-user-gesture-required",
            "--mute-audio",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--window-size=1000,1180",
            f"--user-data-dir={folder}",
        )
        self.process = subprocess.Popen(
            [BROWSER, *flags, "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        port_file = Path(folder) / "DevToolsActivePort"
        until(lambda: port_file.is_file() and port_file.read_text().count("\n"))
        port = port_file.read_text().split("\n")[0]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=30) as answer:
            page = next(entry for entry in json.load(answer) if entry["type"] == "page")
        self._opened = contextlib.ExitStack()
        self.socket = self._opened.enter_context(connect(page["webSocketDebuggerUrl"], max_size=None, close_timeout=1))
        self.number = 0
        self.events = []
        for domain in ("Page", "Runtime", "Network", "Log", "Accessibility"):
            self.send(f"{domain}.enable")

    def send(self, method, **parameters):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv(60))
            if message.get("id") == self.number:
                assert "error" not in message, message
                return message["result"]
            self.events.append(message)

    def run(self, code):
        result = self.send("Runtime.evaluate", expression=f"({code})()", returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def state(self):
        return self.run("() => document.body.dataset.state")

    def press(self, key, code=0, modifiers=0, text=""):
        common = {"key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        self.send("Input.dispatchKeyEvent", type="keyDown", **common, **({"text": text} if text else {}))
        self.send("Input.dispatchKeyEvent", type="keyUp", **common)

    def requests(self):
        return [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]

    def problems(self):
        return [
            event["params"]
            for event in self.events
            if event["method"] in ("Runtime.exceptionThrown", "Log.entryAdded")
            and event["params"].get("entry", {}).get("level", "error") == "error"
        ]

    def close(self):
        self._opened.close()
        self.process.terminate()
        self.process.wait(30)


def until(condition, seconds=40.0):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
    return found


@pytest.fixture
def browser(tmp_path):
    opened = Browser(tmp_path / "profile")
    yield opened
    opened.close()


def test_type_and_hear_with_the_keyboard_alone(browser, server, tmp_path):
    browser.send("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    browser.send("Page.navigate", url=server.url)
    until(lambda: browser.run("() => document.querySelectorAll('#voice option').length") == 1)
    browser.run("() => { document.getElementById('text').focus(); document.getElementById('text').select(); }")
    browser.send("Input.insertText", text="The ferry leaves at 7. Nobody was late.")
    browser.press("Enter", 13, modifiers=2)  # Ctrl + Enter
    until(lambda: browser.state() in ("playing", "done"))

    words = browser.run("() => [...document.querySelectorAll('#words button')].map((e) => e.textContent)")
    assert words == ["the", "ferry", "leaves", "at", "seven", "nobody", "was", "late"]
    assert browser.run("() => document.querySelectorAll('#phones tr').length") > 20
    assert "seconds of speech" in browser.run("() => document.getElementById('status').textContent")
    assert browser.run("() => document.getElementById('player').src").startswith("blob:")
    drawn = browser.run(
        """() => { const c = document.getElementById("picture");
        return new Set(c.getContext("2d").getImageData(0, 0, c.width, c.height).data).size; }"""
    )
    assert drawn > 10  # wave, phones and pitch: many colours
    until(lambda: browser.state() == "done")

    for button, name in (("srt", "speech.srt"), ("download", "speech.wav")):
        browser.run(f"() => document.getElementById('{button}').focus()")
        browser.press("Enter", 13, text="\r")
        until(lambda name=name: (tmp_path / name).is_file() and (tmp_path / name).stat().st_size > 40)
    assert (tmp_path / "speech.wav").read_bytes()[:4] == b"RIFF"
    assert " --> " in (tmp_path / "speech.srt").read_text()
    assert all(url.startswith((server.url, "blob:", "data:", "about:")) for url in browser.requests())
    assert browser.problems() == []


def test_stop_errors_and_what_a_screen_reader_is_told(browser, server):
    browser.send("Page.navigate", url=server.url)
    until(lambda: browser.run("() => document.querySelectorAll('#voice option').length") == 1)
    nodes = browser.send("Accessibility.getFullAXTree")["nodes"]
    told = {(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node.get("ignored")}
    for role, name in (
        ("heading", "deepvoice"),
        ("textbox", "Text"),
        ("combobox", "Voice"),
        ("slider", "Pitch in semitones"),
        ("checkbox", "The text is SSML"),
        ("button", "Speak"),
        ("button", "Stop"),
        ("status", ""),
    ):
        assert any(found == role and name in label for found, label in told), (role, name, sorted(told))
    unnamed = [
        node for node in nodes if not node.get("ignored") and node["role"]["value"] in ("button", "textbox", "slider")
    ]
    assert all(node.get("name", {}).get("value") for node in unnamed)

    browser.run("() => { document.getElementById('text').value = '***'; }")
    browser.run("() => document.getElementById('speak').click()")
    until(lambda: browser.state() == "error")
    assert "error" in browser.run("() => document.getElementById('status').className")

    browser.run("() => { document.getElementById('text').value = 'The ferry leaves at dawn. '.repeat(100); }")
    browser.run("() => document.getElementById('speak').click()")
    until(lambda: browser.state() in ("speaking", "playing"))
    browser.press("Escape", 27)
    until(lambda: browser.state() == "idle")
    until(lambda: server.metric("deepvoice_speaking") == 0)


def test_the_page_asks_for_a_key(browser, start):
    with start(api_key=("secret-key",)) as closed:
        browser.send("Page.navigate", url=closed.url)
        until(lambda: "key" in (browser.run("() => document.getElementById('status')?.textContent") or ""))
        browser.run(
            "() => { const k = document.getElementById('key'); k.value = 'secret-key';"
            " k.dispatchEvent(new Event('change')); }"
        )
        until(lambda: browser.run("() => document.querySelectorAll('#voice option').length") == 1)
        browser.run("() => document.getElementById('speak').click()")
        until(lambda: browser.state() in ("playing", "done"))


def test_a_picture_of_the_page(browser, speaker, tmp_path):
    """Also makes server/page.png for the README: the picture is written where DEEPVOICE_PAGE_PNG says."""
    browser.send("Page.navigate", url=speaker.url)
    until(lambda: browser.run("() => document.querySelectorAll('#voice option').length") == 1)
    browser.run("() => document.getElementById('speak').click()")
    until(lambda: browser.state() == "done")
    data = base64.b64decode(browser.send("Page.captureScreenshot", format="png")["data"])
    assert data.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", data[16:24])
    assert width >= 900 and height >= 900
    target = os.environ.get("DEEPVOICE_PAGE_PNG")
    if target:
        Path(target).write_bytes(data)
