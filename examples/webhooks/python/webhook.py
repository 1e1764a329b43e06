"""A tool for Loopgate: how many units of an article are in stock. WEBHOOK_SECRET=whsec_… PORT=9000 python3 webhook.py"""

import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from verify import is_signed


class Stock(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if not is_signed(self.headers, body, os.environ["WEBHOOK_SECRET"]):
            return self.send_error(401)
        sku = json.loads(body)["data"]["call"]["arguments"]["sku"]
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps({"sku": sku, "units": {"BX-1": 17}.get(sku, 0)}).encode())


server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "9000"))), Stock)
print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
