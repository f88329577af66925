"""docling-serve for tests: a server with its asynchronous endpoints, which answers what it is told
to, and gives a result once."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TASK = "7f0c"


class Handler(BaseHTTPRequestHandler):
    server: "DoclingServer"

    def do_POST(self) -> None:
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path != "/v1/convert/file/async":
            return self._send(404, {"detail": "Not Found"})
        if self._is_refused():
            return None
        parts = list(BytesParser(policy=HTTP).parsebytes(head + body).iter_parts())
        [file] = [each for each in parts if _name(each) == "files"]
        self.server.files.append((file.get_filename(), file.get_payload(decode=True)))
        self.server.options = [(_name(each), each.get_content()) for each in parts if each != file]
        self.server.has_result = True
        return self._send(self.server.status, self.server.next_task())

    def do_GET(self) -> None:
        if self.path == "/health":
            return self._send(200, {"status": "ok"})
        if self._is_refused():
            return None
        if self.path == f"/v1/status/poll/{TASK}" and not self.server.has_lost_task:
            return self._send(200, self.server.next_task())
        if self.path == f"/v1/result/{TASK}" and self.server.has_result:
            self.server.has_result = False
            return self._send(200, self.server.result)
        return self._send(404, {"detail": "Task not found."})

    def _is_refused(self) -> bool:
        is_refused = bool(self.server.key) and self.headers.get("X-Api-Key") != self.server.key
        if is_refused:
            self._send(401, {"detail": "The provided API Key is invalid."})
        return is_refused

    def _send(self, status: int, answer: Any) -> None:
        body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


class DoclingServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.key = ""
        self.files: list[tuple[str | None, object]] = []
        self.options: list[tuple[str, str]] = []
        self.status = 200  # of the answer to a file
        self.answer: Any = None  # to a file, instead of the task
        self.tasks = ["pending", "started", "success"]  # its states; the last one stays
        self.error_message: str | None = None
        self.has_lost_task = self.has_result = False
        self.result: Any = make_result(make_item("A"))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def next_task(self) -> Any:
        if self.answer is not None:
            return self.answer
        state = self.tasks.pop(0) if len(self.tasks) > 1 else self.tasks[0]
        return {
            "task_id": TASK, "task_type": "convert", "task_status": state, "task_position": 1,
            "task_meta": None, "error_message": self.error_message,
        }  # fmt: skip


def make_item(text: str, page: int = 0, label: str = "text", **fields: Any) -> dict[str, Any]:
    """A part of a DoclingDocument. ``table``: the rows of one, whose text is then its caption;
    ``items``: the parts of a group; ``layer``: not the body."""
    return {"text": text, "page": page, "label": label, **fields}


def make_document(*items: dict[str, Any], page_count: int = 0) -> dict[str, Any]:
    document: dict[str, Any] = {"texts": [], "tables": [], "pictures": [], "groups": []}

    def add(item: dict[str, Any]) -> dict[str, str]:
        is_text = not {"table", "items"} & set(item) and item["label"] != "picture"
        caption = [] if is_text or not item["text"] else [add(make_item(item["text"]))]
        kind = "texts" if is_text else "groups" if "items" in item else f"{item['label']}s"
        document[kind].append(
            {
                "label": item["label"],
                "content_layer": item.get("layer", "body"),
                "prov": [{"page_no": item["page"]}] if item["page"] else [],
                "children": [add(each) for each in item.get("items", ())],
                "captions": caption,
                "text": item["text"],
                **({"level": item.get("level", 1)} if item["label"] == "section_header" else {}),
                "marker": item.get("marker", ""),
                "data": {"grid": item.get("table", [])},
            }
        )
        return {"$ref": f"#/{kind}/{len(document[kind]) - 1}"}

    document["body"] = {"children": [add(each) for each in items]}
    document["pages"] = {str(page): {"page_no": page} for page in range(1, page_count + 1)}
    return document


def make_result(
    *items: dict[str, Any], page_count: int = 0, status: str = "success", error: str = ""
) -> dict[str, Any]:
    return {
        "document": {
            "filename": "f",
            "md_content": None,
            "json_content": make_document(*items, page_count=page_count),
        },
        "status": status,
        "errors": [{"module_name": "m", "error_message": error}] if error else [],
        "processing_time": 0.1,
        "timings": {},
    }


@contextmanager
def running_docling() -> Iterator[DoclingServer]:
    with DoclingServer() as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()


def _name(part: Message) -> str:
    [name] = re.findall(r'[; ]name="([^"]*)"', part["Content-Disposition"])
    return name
