"""Standard Webhooks 1.0 with the standard library: was this request signed with our secret, and lately?"""

import base64
import hashlib
import hmac
import time

TOLERANCE_S = 300


def is_signed(headers, body: bytes, secret: str) -> bool:
    """`secret` is `whsec_…`, as registering the tool showed it. Refuses what is older than five minutes."""
    message_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > TOLERANCE_S:
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = hmac.new(key, f"{message_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    expected = b"v1," + base64.b64encode(digest)
    # There are two signatures while the secret is being changed.
    given = headers.get("webhook-signature", "").encode().split(b" ")
    return any(hmac.compare_digest(expected, each) for each in given)
