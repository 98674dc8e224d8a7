"""A running web UI, and a browser's requests to it."""

import http.client
import json
import os
import re
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

from tests.patience import PATIENCE_SECONDS

FAULTLINE = Path(sys.executable).with_name("faultline")
SELECTOR = '{repositoryLocationName: "orchestration.definitions", repositoryName: "__repository__", jobName: "refresh"}'
LAUNCH = f"""mutation {{
    launchRun(executionParams: {{selector: {SELECTOR}}}) {{ ... on LaunchRunSuccess {{ run {{ runId }} }} }}
}}"""
STATUS = '{ runOrError(runId: "%s") { ... on Run { status } } }'
STOP = 'mutation { terminateRun(runId: "%s") { __typename } }'
CATALOGUE = """{ assetOrError(assetKey: {path: ["published", "warehouse"]}) {
    ... on Asset { assetMaterializations(limit: 1) { runId } }
} }"""
ENDS = {"SUCCESS", "FAILURE", "CANCELED"}


class Pages:
    """A running web UI."""

    def __init__(self, home):
        self.process = subprocess.Popen(
            [FAULTLINE, "ui", "--home", home.root, "--port", "0"],
            stdout=subprocess.PIPE, text=True, env=os.environ | {"FAULTLINE_SCHEDULE": "0 0 29 2 *"},
        )  # fmt: skip
        self.port, self.token = re.search(r":(\d+)/\?token=(.+)", self.process.stdout.readline()).groups()

    def request(self, method, path, headers, body=None):
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)) as connection:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return response.status, response.headers, response.read().decode()

    def ask(self, query):
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        return json.loads(self.request("POST", "/graphql", headers, json.dumps({"query": query}))[2])["data"]

    def launch(self):
        return self.ask(LAUNCH)["launchRun"]["run"]["runId"]

    def end_of(self, run_id):
        while (status := self.ask(STATUS % run_id)["runOrError"]["status"]) not in ENDS:
            time.sleep(0.5)
        return status
