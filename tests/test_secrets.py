"""Text that looks like a credential, and text that only talks about one.

No credential stands here in one piece: each is put together from parts when the tests run.
"""

from __future__ import annotations

import subprocess
import sys
import time
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memdb.base.secrets import advice, find_secrets, redact

MIXED = "aB3dE5fG7h" + "J9kL1mN0pQ"
HEX = "0123456789abcdef" * 2
CORPORA = Path(__file__).parents[2] / "shared" / "data" / "corpora"


def joined(*parts: str) -> str:
    return "".join(parts)


def pem(kind: str) -> str:
    return joined("-----BEGIN ", kind, "PRIVATE", " KEY-----")


AWS_SECRET = joined("wJalrXUtnFEMI/K7MDENG/", "bPxRfiCY", "EXAMPLEKEY")
JWT = joined("eyJhbGciOiJIUzI1NiJ9", ".", "eyJzdWIiOiIxMjM0In0", ".", MIXED)
SLACK_HOOK = joined("hooks.slack.com/", "services/", "T0000AAAA/B0000BBBB/", MIXED, "abcd")

# (text before, the credential, text behind, category)
FOUND = [
    ("key ", joined("sk-", "proj-", MIXED, MIXED), ".", "OpenAI key"),
    ("", joined("sk-", MIXED, MIXED), "", "OpenAI key"),
    ("", joined("sk-", "svcacct-", MIXED, "_-", MIXED), "", "OpenAI key"),
    ("", joined("sk-", "ant-", "api03-", MIXED, "-", MIXED), " ok", "Anthropic key"),
    ("(", joined("sk_", "live_", MIXED), ")", "Stripe key"),
    ("", joined("sk_", "test_", MIXED), "", "Stripe key"),
    ("", joined("rk_", "live_", MIXED), "", "Stripe key"),
    ("", joined("whsec", "_", MIXED, "abcdef"), "", "Stripe key"),
    ("", joined("gho", "_", MIXED, MIXED[:16]), "", "GitHub token"),
    ("`", joined("ghp", "_", MIXED, MIXED[:16]), "`", "GitHub token"),
    ("", joined("ghp", "_", "a" * 36), "", "GitHub token"),
    ("", joined("ghs", "_", MIXED, MIXED), "", "GitHub token"),
    ("https://", joined("ghu", "_", MIXED, MIXED), "@github.com/a/b", "GitHub token"),
    ("", joined("github", "_pat_", MIXED, "_", MIXED), "", "GitHub token"),
    ("", joined("glpat", "-", MIXED), "", "GitLab token"),
    ("//registry/:_authToken=", joined("npm", "_", MIXED, MIXED[:16]), "", "npm token"),
    ("", joined("pypi", "-", "AgEIcHlwaS5vcmc", MIXED, MIXED), "", "PyPI token"),
    ("HF ", joined("hf", "_", MIXED, "abcdefghij", "KLMN"), "", "Hugging Face token"),
    ("id ", joined("AKIA", "IOSFODNN7", "EXAMPLE"), "", "AWS access key"),
    ("", joined("ASIA", "Z2" * 8), "", "AWS access key"),
    ("aws_secret_access_key = ", AWS_SECRET, "", "AWS secret key"),
    ("g=", joined("AI", "za", "Sy", MIXED, MIXED[:13]), "", "Google key"),
    ("", joined("GOCSPX", "-", MIXED, "abcdefgh"), "", "Google key"),
    ("", joined("ya29", ".", MIXED, MIXED), "", "Google key"),
    ("", joined("xox", "b-", "123456789012-", MIXED), "", "Slack token"),
    ("", joined("xox", "p-", "123456789012-", MIXED), "", "Slack token"),
    ("https://", SLACK_HOOK, "", "Slack token"),
    ("", joined("SG", ".", MIXED, ".", MIXED), "", "SendGrid key"),
    ("", joined("dop", "_v1_", HEX, HEX), "", "DigitalOcean token"),
    ("", joined("hvs", ".", MIXED, "abcdef"), "", "Vault token"),
    ("", joined("AGE-", "SECRET-KEY-1", "Q2" * 29), "", "private key"),
    ("", JWT, "", "JSON web token"),
    ("Authorization: Bearer ", JWT, "", "JSON web token"),
    ("Authorization: Bearer ", joined("abc123", "def456ghi"), "", "authorization header"),
    ('-H "authorization: bearer ', MIXED, '"', "authorization header"),
    ('{"Authorization": "Token ', HEX, '"}', "authorization header"),
    ("Authorization: Basic ", joined("dXNlcjpw", "YXNzd29yZA=="), "", "authorization header"),
    ("sends bearer ", MIXED, " along", "authorization header"),
    ("postgres://u:", "p", "@h/db", "password in a URL"),
    ("mysql+pymysql://root:", "s3cret!", "@10.0.0.1:3306/x", "password in a URL"),
    ("redis://:", "pw", "@host:6379", "password in a URL"),
    ("<https://bob:", "a@b", "@example.org/>", "password in a URL"),
    ("mongodb+srv://app:", "pass", "@cluster.example.org", "password in a URL"),
    ("", pem(""), "", "private key"),
    ("", pem("ENCRYPTED "), "", "private key"),
    ("", pem("OPENSSH "), " is how it starts", "private key"),
    ("x\n", joined(pem("RSA "), "\nMIIEow\n", "-----END RSA PRIVATE KEY-----"), "\ny", "private key"),
    ("x\n", joined(pem("EC "), "\n", "MHcCAQEEIA" * 6, "\n", "oAoGCCqGSM" * 6), "\n\nno key", "private key"),
    ('"client_secret": "', joined("q8w7e6", "r5t4y3u2i1"), '"', "secret value"),
    ("API_KEY=", MIXED, "\n", "secret value"),
    ("export OTHER_TOKEN='", HEX, "'", "secret value"),
    ("secret: ", MIXED, ".", "secret value"),
    ("api key: ", HEX, "", "secret value"),
    ("- **API key**: `", MIXED, "`", "secret value"),
    ("?access_token=", MIXED, "", "secret value"),
    ("AccountKey=", joined(MIXED, "/+", MIXED, "=="), ";", "secret value"),
    ("password = ", joined("hunter", "2"), "", "password"),
    ("password: ", joined("Tr0ub4", "dor&3"), ",", "password"),
    ("password: ", joined("hunter", "2"), "", "password"),
    ("root password: ", joined("Winter", "2024!"), "", "password"),
    ("**Password:** `", joined("S3cr3t", "!pw"), "`", "password"),
    ('{"password":"', joined("abc", "123x"), '"}', "password"),
    ('{\\"password\\":\\"', joined("abc", "123x"), '\\"}', "password"),
    ("DB_PASSWORD='", joined("sword", "fish!9"), "'", "password"),
    ("PGPASSWORD=", joined("abc123", "def"), " psql", "password"),
    ("tool --password ", joined("hunter", "22"), " -v", "password"),
    ("passwd: ", joined("correct", "9horse"), "", "password"),
    ("passphrase := \"", joined("f00", "bar99"), "\"", "password"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "secret", "behind", "category"), FOUND, ids=range(len(FOUND)))
def test_credentials_are_found_exactly(before: str, secret: str, behind: str, category: str) -> None:
    text = f"{before}{secret}{behind}"
    (found,) = find_secrets(text)
    assert (found.category, text[found.start : found.end]) == (category, secret)
    assert redact(text) == f"{before}[redacted: {category}]{behind}"


@pytest.mark.parametrize(
    "text",
    [
        "token: stored-in-keychain",
        "token: stored-in-1password",
        "password: ********",
        "password: <your-password>",
        "<your-token>",
        "api_key = <your-token>",
        "api_key: YOUR_API_KEY_1",
        "token=${API_KEY}",
        "token=$API_KEY_2",
        "token: {{ secrets.TOKEN_1 }}",
        "a token bucket with 100 tokens/s",
        "token bucket: refill 100 every 10s",
        'os.environ["API_KEY"]',
        'api_key = os.environ["API_KEY_2"]',
        "const token = process.env.TOKEN_V2",
        "token = request.headers.get('x-token-1')",
        "password = getpass()",
        "password = prompt('Password 2: ')",
        "password: see 1Password",
        "password: required",
        "password: bcrypt2",
        "password: string",
        "password=True",
        "password policy: at least 12 characters",
        "the password is case-sensitive",
        "pwd: /home/user/x1",
        "token: JWT",
        "token: sha256-hashed",
        "token: v2",
        "token: 2024-10-12T10:20",
        "password: argon2id",
        "token expiry: 15m",
        "tokens: 1234abcd5678efgh",
        "max_tokens = 4096",
        "token_count: 12345abc67890",
        "tokenCount = 12345abc67890",
        "secret_name = prod/db-2024-creds",
        "secretName: prod4db7creds9",
        "secret: rotate-every-90-days",
        "secret = config.secret_key_v2",
        "credentials: ~/.aws/credentials2",
        "api_key: str = None",
        "password: Optional[str]",
        f"token_sha256: {HEX}{HEX}",
        f"password_hash: {HEX}",
        f"sha256: {HEX}{HEX}",
        f"commit {HEX}01234567",
        "id: 123e4567-e89b-12d3-a456-426614174000",
        "api_key_id: 123e4567-e89b-12d3-a456-426614174000",
        "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0\n-----END PUBLIC KEY-----",
        "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIE\n-----END CERTIFICATE-----",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGabcdefghijk user@host",
        "pk_live_" + "aB3dE5fG7hJ9kL1mN0pQ",
        "data:image/png;base64," + "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ" * 20,
        "sk-... or sk-proj-…",
        "sk-" + "x" * 30,
        "ghp_" + "x" * 36,
        "AIza" + "x" * 35,
        "sk-your-api-key-goes-here",
        "sk-ant-api03-your-key-here",
        "task-force-of-many-people-at-work",
        "hf_hub_download_timeout_seconds",
        "npm_config_registry=https://example.org",
        "Authorization: Bearer <token>",
        "Authorization: Bearer $TOKEN",
        "Authorization: Bearer ${ACCESS_TOKEN}",
        "Authorization: Bearer token",
        "Authorization: Bearer YOUR_TOKEN_HERE",
        "authorization: required for all endpoints",
        "a bearer token-based-authentication scheme",
        "postgres://user:${PW}@host/db",
        "postgres://user:<password>@host/db",
        "postgres://user:***@host/db",
        "postgres://user@host/db",
        "https://example.com:8080/a@b",
        "see https://example.com and mail me: a@example.com",
        "pull secret: web-server-dockercfg-6wl6b",
        "eyJ is how a token starts, with a dot.",
    ],
)
def test_text_about_credentials_is_left_alone(text: str) -> None:
    assert find_secrets(text) == []
    assert redact(text) == text


def fullwidth(text: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)


@pytest.mark.parametrize(
    ("secret", "hide"),
    list(product(
        [
            joined("ghp", "_", MIXED, MIXED[:16]),
            joined("AKIA", "IOSFODNN7", "EXAMPLE"),
            joined("sk-", "ant-", MIXED),
        ],
        [
            "\u200b".join,
            "\u2060\ufeff".join,
            lambda text: text[:6] + "\u00ad" + text[6:],
            lambda text: "\u202e" + text[:2] + "\u200d\u200d" + text[2:],
            fullwidth,
            lambda text: text[:5] + fullwidth(text[5:9]) + "\u200b" + text[9:],
        ],
    )),
)  # fmt: skip
def test_a_disguised_credential_is_found_where_it_stands(secret: str, hide: object) -> None:
    hidden = hide(secret)  # type: ignore[operator]
    text = f"a\u200bé\r\nkey {hidden} end"
    (found,) = find_secrets(text)
    assert text[found.start : found.end] == hidden.lstrip("\u202e")
    assert found.line == 2
    assert redact(text).endswith(" end")


def test_lines_and_order_of_several() -> None:
    token = joined("ghp", "_", MIXED, MIXED)
    text = f"a\r\n{token}\rb {token}\n\n{pem('')}\n"
    assert [(found.category, found.line) for found in find_secrets(text)] == [
        ("GitHub token", 2),
        ("GitHub token", 3),
        ("private key", 5),
    ]


def test_overlapping_readings_are_one_secret_under_the_most_specific_name() -> None:
    token = joined("ghp", "_", MIXED, MIXED)
    assert redact(f"password = {token}") == "password = [redacted: GitHub token]"
    assert redact(f"token={token}&x") == "token=[redacted: GitHub token]"
    assert redact(f"https://me:{token}@example.org") == "https://me:[redacted: GitHub token]@example.org"


def test_the_secret_key_beside_an_access_key() -> None:
    text = joined("AKIA", "IOSFODNN7", "EXAMPLE", " / ", AWS_SECRET)
    assert redact(text) == "[redacted: AWS access key] / [redacted: AWS secret key]"


@pytest.mark.parametrize("category", sorted({row[3] for row in FOUND}))
def test_each_category_says_where_to_keep_it(category: str) -> None:
    assert advice(category).startswith(("Keep it in ", "Write the address without the password"))


@given(
    st.text(alphabet=st.sampled_from("aA1:=@/-_. \n\"'`\u200bｋ")),
    st.sampled_from([row[:3] for row in FOUND]),
)
@settings(max_examples=200, deadline=None)
def test_redaction_leaves_nothing_to_find_and_keeps_the_rest(text: str, row: tuple[str, str, str]) -> None:
    whole = f"{text}\n\n{''.join(row)}\n\n{text}"
    found = find_secrets(whole)
    assert row[1] in [whole[secret.start : secret.end] for secret in found]
    assert row[1] not in redact(whole).removeprefix(text).removesuffix(text) or len(row[1]) < 6
    position = 0
    for secret in found:
        assert position <= secret.start < secret.end
        assert secret.line == whole.count("\n", 0, secret.start) + 1
        position = secret.end


@given(st.text())
@settings(max_examples=200, deadline=None)
def test_any_text_is_searched(text: str) -> None:
    find_secrets(text)


@pytest.mark.parametrize(
    "unit",
    [
        "the quick brown fox and a token bucket. ",
        "sk-", "token", "token=", "token='", "token=1&", "password: ", "secret: x1", "eyJa.", " eyJaaaaaaaa", "a://b:c",
        "bearer ", "authorization: bearer ", "--token ", "a\u200b", "İ", "QUJDREVGR0hJSktM", "-----BEGIN ",
        "-----BEGIN PRIVATE" + " KEY-----",
        "&sig=", "cookie: session=", "cookie: ", "curl ", "curl -u a:", "mysql -p", "password aB3$x1y2 ", "a:1:b:c:",
        "psk ",
        "seed phrase: ", "seed phrase: abcd ", "abcd ", "a8Q~", "a-us1", "a.atlasv1.", ":AA", "M",
        "MaB3dE5fG7hJ9kL1mN0pQ.",
        "'auth': '",
        "api key is ", "x-amz-signature=", "token', '", "https://a?sv=1&sig=",
    ],
)  # fmt: skip
@pytest.mark.parametrize("length", [40_000, pytest.param(200_000, marks=pytest.mark.slow)])
def test_searching_is_linear(unit: str, length: int) -> None:
    text = (unit * (length // len(unit) + 1))[:length]
    started = time.process_time()
    find_secrets(text)
    # Of 200,000 characters ordinary text takes 0.06 s, the worst of these half a second.
    assert time.process_time() - started < 3 * length / 200_000


def test_a_megabyte_of_prose_is_quick() -> None:
    text = "The quick brown fox keeps its notes in plain files, and reads them again.\n" * 14_000
    fastest = min(timed(text) for _ in range(3))
    assert fastest < 0.6


def timed(text: str) -> float:
    started = time.process_time()
    find_secrets(text)
    return time.process_time() - started


@pytest.mark.corpora
@pytest.mark.skipif(not CORPORA.is_dir(), reason="the reference corpora are not beside the repository")
def test_no_false_alarm_in_real_notes() -> None:
    flagged = {
        path.name: [secret.line for secret in secrets]
        for path in sorted(CORPORA.rglob("*.md"))
        if (secrets := find_secrets(path.read_text(encoding="utf-8", errors="replace")))
    }
    assert flagged == {}


def test_importing_the_module_is_cheap() -> None:
    code = "import sys, memdb.base.secrets; sys.exit(bool({'requests', 'yaml'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
