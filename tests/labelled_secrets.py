"""Texts with a credential and texts that only look as if they had one, labelled, to measure detectors by.

Every credential is made up when this runs, from the format that its issuer documents and a seeded generator; none
stands here in one piece. A credential comes in several settings: as a person writes it in a note, in a file of
settings, in code, in a command.
"""

from __future__ import annotations

import base64
import hashlib
import random
import string
import uuid
from collections.abc import Callable
from dataclasses import dataclass

ALNUM = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + string.digits
LOWER = string.ascii_lowercase + string.digits
HEX = "0123456789abcdef"
URLSAFE = ALNUM + "-_"
B64 = ALNUM + "+/"
B32 = string.ascii_uppercase + "234567"


@dataclass(frozen=True, slots=True)
class Labelled:
    """A text, what kind it is of, and the credential in it; None where it has none."""

    kind: str
    text: str
    secret: str | None


class Maker:
    """Random texts that are the same in every run."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def of(self, alphabet: str, length: int) -> str:
        """Letters of an alphabet; with a digit and, where it has them, letters of both cases, as real ones have."""
        while True:
            found = "".join(self._random.choice(alphabet) for _ in range(length))
            wanted = [
                group
                for group in (string.digits, string.ascii_lowercase, string.ascii_uppercase)
                if set(group) & set(alphabet)
            ]
            if length < 8 or all(set(group) & set(found) for group in wanted):
                return found

    def pick(self, *choices: str) -> str:
        return self._random.choice(choices)

    def number(self, low: int, high: int) -> int:
        return self._random.randint(low, high)

    def bytes(self, length: int) -> bytes:
        return self._random.randbytes(length)

    def base64(self, length: int) -> str:
        return base64.b64encode(self.bytes(length)).decode()


Token = Callable[[Maker], str]


def token(*parts: str | tuple[str, int]) -> Token:
    """Texts as they are, and (alphabet, length) pairs."""
    return lambda make: "".join(part if isinstance(part, str) else make.of(*part) for part in parts)


def _jwt(make: Maker) -> str:
    head = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
    body = base64.urlsafe_b64encode(f'{{"sub":"{make.of(HEX, 12)}","iat":1700000000}}'.encode()).decode().rstrip("=")
    return f"{head}.{body}.{make.of(URLSAFE, 43)}"


TOKENS: dict[str, Token] = {
    "Anthropic": token("sk-", "ant-", "api03-", (URLSAFE, 93), "AA"),
    "OpenAI project": token("sk-", "proj-", (URLSAFE, 74)),
    "OpenAI": token("sk-", (ALNUM, 48)),
    "OpenRouter": token("sk-", "or-v1-", (HEX, 64)),
    "Stripe": token("sk_", "live_", (ALNUM, 24)),
    "Stripe restricted": token("rk_", "live_", (ALNUM, 24)),
    "Stripe webhook": token("whsec", "_", (ALNUM, 32)),
    "GitHub": token("ghp", "_", (ALNUM, 36)),
    "GitHub OAuth": token("gho", "_", (ALNUM, 36)),
    "GitHub fine-grained": token("github", "_pat_", (ALNUM, 22), "_", (ALNUM, 59)),
    "GitLab": token("glpat", "-", (URLSAFE, 20)),
    "npm": token("npm", "_", (ALNUM, 36)),
    "PyPI": token("pypi", "-", "AgEIcHlwaS5vcmc", (URLSAFE, 120)),
    "RubyGems": token("rubygems", "_", (HEX, 48)),
    "NuGet": token("oy2", (LOWER, 43)),
    "Hugging Face": token("hf", "_", (string.ascii_letters + string.digits, 34)),
    "AWS key id": token("AK", "IA", (UPPER, 16)),
    "Google": token("AI", "za", "Sy", (URLSAFE, 33)),
    "Google OAuth secret": token("GOC", "SPX-", (URLSAFE, 28)),
    "Google refresh": token("1/", "/0", (URLSAFE, 60)),
    "Slack bot": token("xox", "b-", (string.digits, 12), "-", (string.digits, 12), "-", (ALNUM, 24)),
    "Slack app": token("xap", "p-", "1-", (UPPER, 11), "-", (string.digits, 13), "-", (HEX, 64)),
    "Slack webhook": token("https://hooks.", "slack.com/services/T", (UPPER, 9), "/B", (UPPER, 9), "/", (ALNUM, 24)),
    "Discord webhook": token("https://discord.com/api/", "webhooks/", (string.digits, 18), "/", (URLSAFE, 68)),
    "Discord bot": token("M", (ALNUM, 23), ".", (URLSAFE, 6), ".", (URLSAFE, 38)),
    "Telegram bot": token((string.digits, 10), ":AA", (URLSAFE, 33)),
    "SendGrid": token("SG", ".", (URLSAFE, 22), ".", (URLSAFE, 43)),
    "Mailgun": token("key", "-", (HEX, 32)),
    "Mailchimp": token((HEX, 32), "-us", "14"),
    "Brevo": token("xkey", "sib-", (HEX, 64), "-", (ALNUM, 16)),
    "Twilio": token("SK", (HEX, 32)),
    "DigitalOcean": token("dop", "_v1_", (HEX, 64)),
    "Docker": token("dckr", "_pat_", (URLSAFE, 27)),
    "Databricks": token("da", "pi", (HEX, 32)),
    "Shopify": token("shp", "at_", (HEX, 32)),
    "Square": token("sq0", "atp-", (URLSAFE, 22)),
    "Groq": token("gsk", "_", (ALNUM, 52)),
    "xAI": token("xai", "-", (ALNUM, 80)),
    "Perplexity": token("pplx", "-", (ALNUM, 48)),
    "Replicate": token("r8", "_", (ALNUM, 37)),
    "Notion": token("ntn", "_", (ALNUM, 46)),
    "Linear": token("lin", "_api_", (ALNUM, 40)),
    "Figma": token("figd", "_", (URLSAFE, 40)),
    "Airtable": token("pat", (ALNUM, 14), ".", (HEX, 64)),
    "Postman": token("PMAK", "-", (HEX, 24), "-", (HEX, 34)),
    "Grafana": token("glsa", "_", (ALNUM, 32), "_", (HEX, 8)),
    "New Relic": token("NRAK", "-", (UPPER, 27)),
    "Doppler": token("dp.", "pt.", (ALNUM, 43)),
    "Pulumi": token("pul", "-", (HEX, 40)),
    "Terraform Cloud": token((ALNUM, 14), ".atlas", "v1.", (URLSAFE, 67)),
    "Vault": token("hvs", ".", (URLSAFE, 95)),
    "Tailscale": token("tskey", "-auth-", (ALNUM, 12), "-", (ALNUM, 32)),
    "Supabase": token("sbp", "_", (HEX, 40)),
    "PlanetScale": token("pscale", "_tkn_", (URLSAFE, 43)),
    "Sentry": token("sntrys", "_", "eyJpYXQiOjE3", (ALNUM, 80)),
    "SonarQube": token("sqp", "_", (HEX, 40)),
    "Atlassian": token("ATA", "TT3", (URLSAFE, 180)),
    "Contentful": token("CFP", "AT-", (URLSAFE, 43)),
    "Alibaba": token("LT", "AI5t", (ALNUM, 20)),
    "Facebook": token("EA", "AB", (ALNUM, 120)),
    "age": token("AGE-", "SECRET-KEY-1", ("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58)),
    "JSON web token": _jwt,
}
"""Formats that issuers document, by issuer."""

SETTINGS = (
    "For the nightly job use {} until we rotate it.",
    "- key of the staging account: `{}`",
    'client = Client("{}")  # remove before commit',
    "SERVICE_CREDENTIAL={}",
)
"""How a person comes to write a token down."""


def _pem(kind: str, make: Maker) -> str:
    body = make.base64(360)
    lines = "\n".join(body[at : at + 64] for at in range(0, len(body), 64))
    return f"-----BEGIN {kind}PRIVATE" + f" KEY-----\n{lines}\n-----END {kind}PRIVATE" + " KEY-----"


def _password(make: Maker) -> str:
    word = make.pick("Winter", "hunter", "Lantern", "correct", "Gr4phite", "monkey", "Tr0ub")
    return word + make.of(string.digits, 2) + make.pick("!", "#x", "$q", "&Z", "%k") + make.of(ALNUM, 3)


def _value(alphabet: str, length: int) -> Token:
    return lambda make: make.of(alphabet, length)


SEED_WORDS = (
    "abandon", "lamp", "oyster", "ridge", "velvet", "sponsor", "tunnel", "quick", "ladder", "copper", "mimic", "orbit",
    "panel", "rescue", "dwarf", "glue",
)  # fmt: skip

PLACED: dict[str, tuple[tuple[str, ...], Token]] = {
    "password": (
        (
            "The password for the wiki is: {}",
            "password: {}",
            "DB_PASSWORD={}",
            'password = "{}"',
            "login ines, password {}",
            "root pw: {}",
            "passwd={} ./deploy.sh",
            "- **Password:** {}",
        ),
        _password,
    ),
    "password in JSON": (('{{"user": "app", "password": "{}"}}', '"db_pass": "{}",'), _password),
    "password in an option": (
        (
            "mysqldump --user=root --password={} shop",
            "psql-tool --password {} --host db",
            "sshpass -p {} ssh root@db",
            "curl -u admin:{} https://intranet.example/api",
        ),
        lambda make: make.of(ALNUM, 14),
    ),
    "password in a URL": (
        (
            "postgres://app:{}@db.example:5432/shop",
            "DATABASE_URL=mysql://root:{}@10.0.0.7/x",
            "redis://:{}@cache:6379/0",
            "clone https://ines:{}@git.example/a/b.git",
            "amqp://guest:{}@mq:5672",
        ),
        lambda make: make.of(ALNUM, 12),
    ),
    "connection string": (
        (
            "Server=db;Database=shop;User Id=sa;Password={};",
            "jdbc:postgresql://db/shop?user=app&password={}",
            "DefaultEndpointsProtocol=https;AccountName=shop;AccountKey={};",
        ),
        lambda make: make.of(ALNUM, 20),
    ),
    "netrc": (("machine git.example login ines password {}",), _value(ALNUM, 16)),
    "pgpass": (("db.example:5432:shop:app:{}",), _value(ALNUM, 16)),
    "generic key": (
        (
            "API_KEY={}",
            "api_key: '{}'",
            '"apiKey": "{}"',
            "x-api-key: {}",
            "export SEGMENT_WRITE_KEY={}",
            "apikey={}&q=tea",
            "const API_SECRET = '{}';",
            "DD_API_KEY: {}",
            "the api key is {}",
        ),
        _value(HEX, 32),
    ),
    "client secret": (
        ('"client_secret": "{}"', "client-secret: {}", "OAUTH_CLIENT_SECRET={}"),
        lambda make: make.of(ALNUM, 3) + "8Q~" + make.of(URLSAFE, 34),
    ),
    "AWS secret key": (
        ("aws_secret_access_key = {}", "AWS_SECRET_ACCESS_KEY={}", '"SecretAccessKey": "{}"'),
        _value(B64, 40),
    ),
    "framework secret": (
        (
            "SECRET_KEY = '{}'",
            "secret_key_base: {}",
            "JWT_SECRET={}",
            "define('AUTH_KEY', '{}');",
            'SESSION_SECRET="{}"',
        ),
        _value(ALNUM, 50),
    ),
    "WireGuard": (("PrivateKey = {}", "private_key: {}"), lambda make: make.base64(32)),
    "bearer header": (
        (
            "Authorization: Bearer {}",
            "curl -H 'Authorization: Bearer {}' https://api.example",
            '"authorization": "Bearer {}"',
        ),
        _value(ALNUM, 40),
    ),
    "basic header": (
        ("Authorization: Basic {}", '{{"auths": {{"registry.example": {{"auth": "{}"}}}}}}'),
        lambda make: base64.b64encode(f"app:{make.of(ALNUM, 12)}".encode()).decode(),
    ),
    "cookie": (("Cookie: sessionid={}", "Set-Cookie: session={}; HttpOnly"), _value(LOWER, 32)),
    "TOTP seed": (("otpauth://totp/Shop:ines?secret={}&issuer=Shop", "TOTP secret: {}"), _value(B32, 32)),
    "shared access signature": (
        ("https://shop.blob.example/c/b?sv=2023-01-03&se=2027-01-01&sr=b&sp=r&sig={}",),
        lambda make: make.base64(32).replace("+", "%2B").replace("/", "%2F").replace("=", "%3D"),
    ),
    "wifi": (("wpa passphrase: {}", 'psk="{}"'), _password),
    "token in a query": (
        ("https://api.example/v1/items?access_token={}", "wss://feed.example/?token={}&v=2"),
        _value(ALNUM, 32),
    ),
    "seed phrase": (
        ("seed phrase: {}", "The recovery phrase of the wallet is {}"),
        lambda make: " ".join(make.pick(*SEED_WORDS) for _ in range(12)),
    ),
    "private key": (("{}", "key: |\n{}"), lambda make: _pem("", make)),
    "RSA key": (("{}",), lambda make: _pem("RSA ", make)),
    "encrypted key": (("{}",), lambda make: _pem("ENCRYPTED ", make)),
    "OpenSSH key": (("saved by mistake:\n\n{}",), lambda make: _pem("OPENSSH ", make)),
    "key in JSON": (('{{"private_key": "{}"}}',), lambda make: _pem("", make).replace("\n", "\\n")),
}
"""Credentials without a format of their own: what is around them tells."""


def secrets() -> list[Labelled]:
    """Texts with one credential each."""
    found = []
    for kind, build in TOKENS.items():
        make = Maker(kind)
        for setting in SETTINGS:
            secret = build(make)
            found.append(Labelled(kind, setting.format(secret), secret.removeprefix("https://")))
    for kind, (templates, build) in PLACED.items():
        make = Maker(kind)
        for template in templates:
            secret = build(make)
            found.append(Labelled(kind, template.format(secret), secret.removeprefix("https://")))
    return found


WORDS = (
    "harbour", "lantern", "table", "kettle", "deploy", "staging", "review", "garden", "ladder", "Tuesday", "invoice",
    "train", "museum", "coffee", "ticket", "branch", "rollback", "weather", "sensor", "pump", "gauge", "window",
    "report", "meeting", "quota", "budget", "copper", "violin", "archive", "teapot",
)  # fmt: skip

PROSE = (
    "The token bucket refills at {n} tokens per second, up to {n}.",
    "Reset your password in the settings; passwords need {n} characters.",
    "The secret of a good {w} is patience and a {w2}.",
    "Ask Ines for the password of the {w}; it is in 1Password under {w2}.",
    "API keys live in the keychain, entry {w}-{w2}.",
    "She said the key to the {w} is under the {w2}.",
    "Access tokens expire after {n} minutes; refresh tokens after {n} days.",
    "password: see the {w} vault",
    "token: stored-in-keychain",
    "Set API_KEY to your own key before the {w} starts.",
    "The secret: never skip the {w} review.",
    "We store bcrypt hashes, never passwords, since the {w} incident of 2024.",
    "Bearer tokens are checked by the {w} service; see docs/{w2}.md.",
    "Authorization is required for every {w} endpoint.",
    "Login as guest, no password needed, at https://{w}.example:8443/{w2}",
    "Password managers: compare {w} and {w2} before {n} May.",
    "mail ines@{w}.example about the token design",
    "The pin code of the {w} door changes every {n} weeks.",
)
CODE = (
    'api_key = os.environ["{U}_API_KEY"]',
    "const token = process.env.{U}_TOKEN;",
    "password = getpass.getpass('{w} password: ')",
    "token = request.headers.get('x-{w}-token')",
    "secret = vault.read('kv/{w}/{w2}')",
    "token = generate_token(user_id={n})",
    "self.password = hash_password(password, rounds={n})",
    "api_key: str | None = None  # from {U}_KEY",
    "if not secrets.compare_digest(token, expected_{w}_token):",
    "def test_password_{w}_is_refused(client): ...",
    "max_tokens={n}, temperature=0.{n}",
    "tokens_per_minute: {n}000",
    "secretName: {w}-{w2}-tls",
    "secretKeyRef: {{name: {w}-{w2}, key: password}}",
    "  password: ${{{U}_PASSWORD}}",
    "token: {{{{ secrets.{U}_TOKEN }}}}",
    "password_field = By.ID, '{w}-password-input'",
    "PASSWORD_HASHERS = ['django.contrib.auth.hashers.Argon2PasswordHasher']",
    "credentials_path = '~/.config/{w}/credentials.json'",
    "token_url: https://auth.{w}.example/oauth/token",
    "grant_type=client_credentials&scope={w}.read",
    "AUTH_TOKEN_TTL = {n} * 60",
    "key: {w}-{w2}-{n}",
    "primary_key = 'id_{w}_{n}'",
    "public_key_path: /etc/{w}/{w2}.pub",
    "api_key_id: {uuid}",
    "from {w}.auth import TokenAuthentication, PasswordResetTokenGenerator",
)
PLACEHOLDERS = (
    "password: ********",
    "api_key = <your-{w}-key>",
    "OPENAI_API_KEY=sk-...",
    "token: xxxxxxxxxxxxxxxxxxxxxxxx",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer <access-token>",
    "postgres://user:password@localhost/{w}",
    "postgres://user:<password>@{w}/db",
    "https://user:***@git.example/{w}.git",
    "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "sk-your-{w}-key-here",
    "AWS_SECRET_ACCESS_KEY=YOUR_SECRET_ACCESS_KEY",
    "password = changeme",
    "SECRET_KEY = 'replace-me-in-production'",
    "api_key: [redacted: OpenAI key]",
    "token = REDACTED",
    "AKIAXXXXXXXXXXXXXXXX",
)


def innocents() -> list[Labelled]:
    """Texts without a credential, many of which look as if they had one."""
    make = Maker("innocents")
    found: list[Labelled] = []

    def fill(template: str) -> str:
        return template.format(
            n=make.number(2, 90), w=make.pick(*WORDS), w2=make.pick(*WORDS), U=make.pick(*WORDS).upper(),
            uuid=uuid.UUID(bytes=make.bytes(16), version=4),
        )  # fmt: skip

    for kind, templates, times in (("prose", PROSE, 4), ("code", CODE, 4), ("placeholder", PLACEHOLDERS, 3)):
        for template in templates:
            found += [Labelled(kind, fill(template), None) for _ in range(times if "{" in template else 1)]
    for _ in range(12):
        sha1, sha256 = hashlib.sha1(make.bytes(8)).hexdigest(), hashlib.sha256(make.bytes(8)).hexdigest()
        found += [
            Labelled(
                "commit", make.pick(f"fixed in {sha1}", f"commit {sha1}", f"see {sha1[:10]}..{sha1[20:30]}"), None
            ),
            Labelled(
                "checksum",
                make.pick(f"sha256:{sha256}", f"{sha256}  {make.pick(*WORDS)}.tar.gz", f'"sha256": "{sha256}"'),
                None,
            ),
            Labelled("image digest", f"image: registry.example/{make.pick(*WORDS)}@sha256:{sha256}", None),
            Labelled(
                "uuid",
                make.pick("id: ", "request ", "trace_id=") + str(uuid.UUID(bytes=make.bytes(16), version=4)),
                None,
            ),
            Labelled("integrity", f'"integrity": "sha512-{make.base64(64)}"', None),
            Labelled("image", f"![logo](data:image/png;base64,iVBORw0KGgo{make.base64(240)})", None),
            Labelled(
                "public key", f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{make.of(B64, 43)} ines@{make.pick(*WORDS)}", None
            ),
            Labelled(
                "certificate", f"-----BEGIN CERTIFICATE-----\n{make.base64(180)}\n-----END CERTIFICATE-----", None
            ),
            Labelled("etag", f'ETag: "{make.of(HEX, 32)}"', None),
            Labelled("object id", f"_id: ObjectId('{make.of(HEX, 24)}')", None),
            Labelled("publishable key", "pk_" + "live_" + make.of(ALNUM, 24), None),
            Labelled(
                "generated name", f"pod/{make.pick(*WORDS)}-{make.of(HEX, 10)}-{make.of(LOWER, 5)} restarted", None
            ),
            Labelled(
                "link", f"https://docs.example/d/{make.of(URLSAFE, 30)}/edit#heading=h.{make.of(LOWER, 10)}", None
            ),
            Labelled(
                "version",
                f"{make.pick(*WORDS)}=={make.number(0, 9)}.{make.number(0, 30)}.0rc{make.number(1, 4)}",
                None,
            ),
            Labelled("identifier", f"{make.pick(*WORDS)}_{make.pick(*WORDS)}_password_reset_token_created_at", None),
        ]
    return found
