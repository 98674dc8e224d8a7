"""Documents of slurmrestd over a Unix socket and HTTP, and of `sacct --json`; the server is a small one in a thread."""

import json
import socketserver
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

TOKEN = "eyJhbGciOiJIUzI1NiJ9.planted.token"


def document(*ends):
    jobs = [{"job_id": number, "time": {"end": end, "start": 1}} for number, end in enumerate(ends, 1)]
    return json.dumps({"meta": {}, "errors": [], "jobs": jobs}, indent=2)


def nodes(*names):
    shown = [{"name": name, "hostname": name, "gres": "gpu:a100:8", "state": ["IDLE"]} for name in names]
    return json.dumps({"nodes": shown, "errors": []}, indent=2)


class UnixServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


@pytest.fixture
def asked():
    """The requests that the server got: path and headers."""
    return []


@pytest.fixture
def answers():
    """What the server says to a path: status and text."""
    versions = {"paths": {f"/slurmdb/v0.0.{number}/jobs/": {} for number in (39, 41, 40)}}
    # As json-c writes it, which Slurm uses.
    return {"/openapi/v3": (200, json.dumps(versions).replace("/", "\\/"))}


@pytest.fixture
def handler(asked, answers):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append((self.path, dict(self.headers)))
            text = nodes("gpu1", "gpu2") if self.path.endswith("/nodes") else document()
            status, text = answers.get(self.path.partition("?")[0], (200, text))
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_):
            pass

        def address_string(self):
            return "test"

    return Handler


@pytest.fixture(params=["unix", "http"])
def address(request, handler, tmp_path):
    if request.param == "unix":
        server, address = UnixServer(str(tmp_path / "rest.sock"), handler), f"unix://{tmp_path}/rest.sock"
    else:
        server = HTTPServer(("127.0.0.1", 0), handler)
        address = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield address
    server.shutdown()
    server.server_close()


@pytest.fixture
def rest(pull, address):
    def rest(**more):
        return pull(via="slurmrestd", slurmrestd=address, kinds=["sacct", "events", "inventory", "squeue"], **more)

    return rest


def test_accounting_and_inventory_are_fetched_and_nothing_that_it_does_not_have(rest, asked, answers, files, folder):
    answers["/slurmdb/v0.0.41/jobs"] = (200, document(1772586000))  # the fourth of March, 01:00
    result = rest(token=TOKEN, slurmrestd_user="faultline")
    assert result.problems == [] and set(result.kinds) == {"sacct", "inventory"}
    paths = [path for path, _ in asked]
    assert paths[0] == "/openapi/v3"
    assert paths[1] == (
        "/slurmdb/v0.0.41/jobs?start_time=uts1772409600&end_time=uts1772496000"
        "&skip_steps=true&show_duplicates=true&disable_truncate_usage_time=true"
    )
    assert paths[-1] == "/slurm/v0.0.41/nodes"
    assert result.kinds["inventory"].records == 2 and "inventory/pulled-2026-03-05.json" in files()
    assert {headers["X-SLURM-USER-TOKEN"] for _, headers in asked} == {TOKEN}
    assert {headers["X-SLURM-USER-NAME"] for _, headers in asked} == {"faultline"}
    assert "sacct/pulled-2026-03-04.json" in files() and "sacct/pulled-2026-03-03.json" not in files()
    assert not [path for path in folder.rglob("*") if path.is_file() and TOKEN in path.read_text()]


def test_a_token_file_comes_before_the_variable_and_may_be_as_scontrol_prints_it(rest, asked, tmp_path):
    (tmp_path / "token").write_text(f"SLURM_JWT={TOKEN}\n")
    rest(token=TOKEN[::-1], token_file=str(tmp_path / "token"), api_version="v0.0.40")
    assert {headers["X-SLURM-USER-TOKEN"] for _, headers in asked} == {TOKEN}
    assert asked[0][0].startswith("/slurmdb/v0.0.40/jobs")


def test_a_document_without_nodes_is_no_inventory(rest, answers, files):
    answers["/slurm/v0.0.41/nodes"] = (200, nodes())
    assert "it lists no node" in rest().problems[0].what and files("inventory") == []


@pytest.mark.parametrize(("version", "is_told"), [("v0.0.38", False), ("v0.0.39", False), ("v0.0.40", True)])
def test_records_are_asked_for_whole_where_slurm_knows_the_words(rest, asked, version, is_told):
    """Slurm 22.05 refuses a question with a word that it does not know; from 23.11 on times are cut at the window."""
    assert rest(api_version=version).problems == []
    jobs = [path for path, _ in asked if "/jobs?" in path]
    assert jobs and all(path.endswith("&disable_truncate_usage_time=true") is is_told for path in jobs)
    assert all(("&show_duplicates=true" in path) is is_told for path in jobs)


def test_a_token_that_is_refused_is_told_without_the_token(rest, answers):
    answers["/openapi/v3"] = (401, "Authentication failure")
    result = rest(token=TOKEN)
    assert "slurmrestd answers 401 Unauthorized: Authentication failure" in result.problems[0].what
    assert "SLURM_JWT" in result.problems[0].next_step
    assert result.status == "failed" and TOKEN not in str(result.as_dict())


def test_a_document_that_reports_an_error_is_no_answer(rest, answers, files):
    text = json.dumps({"errors": [{"error": "Unable to connect to database", "error_number": 7000}], "jobs": []})
    answers["/slurmdb/v0.0.41/jobs"] = (200, text)
    result = rest()
    assert "Unable to connect to database" in result.problems[0].what and files("sacct") == []


def test_a_slurmrestd_that_does_not_run_ends_the_pull(pull, tmp_path):
    result = pull(via="slurmrestd", slurmrestd=f"unix://{tmp_path}/none.sock")
    assert result.status == "failed" and "gives no answer" in result.problems[0].what


def environments(slurm):
    """Give the format of times that each call of sacct got."""
    return (slurm.folder / "formats").read_text().split("\n")[:-1]


class TestSacctJson:
    def test_the_same_days_are_asked_for(self, slurm, pull, files):
        for day in (2, 3, 4, 5):
            slurm.run_first("sacct", f"2026-03-0{day}", 'echo "$SLURM_TIME_FORMAT" >> "$FAKE_SLURM/formats"\n')
        slurm.whole_answer("sacct", "2026-03-04", document(1772586000, 0))
        for day in (2, 3, 5):
            # As Slurm 22.05 answers for a day without a job.
            nothing = {"errors": [{"description": "Nothing found", "error_number": 9003}], "jobs": []}
            slurm.whole_answer("sacct", f"2026-03-0{day}", json.dumps(nothing))
        result = pull(via="json")
        assert result.problems == [] and result.kinds["sacct"].records == 2
        assert slurm.calls[1] == [
            "sacct", "-a", "-D", "-X", "-S", "2026-03-02T00:00:00", "-E", "2026-03-03T00:00:00", "--json",
        ]  # fmt: skip
        # sacct 22.05 misreads its own window where the format of times is set.
        assert environments(slurm) == ["", "", "", ""]
        names = [f"sacct/pulled-2026-03-0{day}.json" for day in (4, 5)]
        assert [name for name in files("sacct") if not name.endswith("manifest.json")] == names

    @pytest.mark.parametrize("text", [document(1772586000)[:-3], "", '{"meta": {}}'])
    def test_what_is_no_whole_document_is_refused(self, slurm, pull, files, text):
        slurm.whole_answer("sacct", "2026-03-04", text)
        for day in (2, 3, 5):
            slurm.whole_answer("sacct", f"2026-03-0{day}", document())
        assert len(pull(via="json").problems) == 1
        assert files("sacct") == []
