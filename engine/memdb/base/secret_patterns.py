"""The shapes of credentials: issuers' token formats, and the words that show a value is no credential.

Token formats are those that the issuers document for secret scanning. Each rule has a literal anchor that is
searched as plain text, so that a pattern runs only where it can match.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TokenRule:
    """A token that starts with `anchor`; `pattern` is matched there and gives the whole token."""

    category: str
    anchor: str
    pattern: re.Pattern[str]


def _rule(category: str, anchor: str, rest: str) -> TokenRule:
    return TokenRule(category, anchor, re.compile(re.escape(anchor) + rest))


@dataclass(frozen=True, slots=True)
class InnerRule:
    """A token with `anchor` inside; `before` is matched in the `reach` characters up to it, `after` behind it."""

    category: str
    anchor: str
    reach: int
    before: re.Pattern[str]
    after: re.Pattern[str]


def _inner(category: str, before: str, anchor: str, after: str, reach: int = 40) -> InnerRule:
    return InnerRule(category, anchor, reach, re.compile(rf"(?<![A-Za-z0-9_-]){before}$"), re.compile(after))


INNER_RULES: tuple[InnerRule, ...] = (
    _inner("Terraform token", r"[A-Za-z0-9]{14}", ".atlasv1.", r"[A-Za-z0-9_=-]{60,70}"),
    _inner("Telegram token", r"[0-9]{8,10}", ":AA", r"[A-Za-z0-9_-]{32,34}(?![A-Za-z0-9_-])"),
    _inner("Mailchimp key", r"[a-f0-9]{32}", "-us", r"[0-9]{1,2}(?![A-Za-z0-9_-])"),
    _inner("Azure client secret", r"[A-Za-z0-9_~.-]{3}", "8Q~", r"[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~-])"),
    _inner(
        "Teams webhook",
        r"[a-z0-9-]{1,60}",
        ".webhook.office.com/webhookb2/",
        r"[a-f0-9@-]{70,80}/IncomingWebhook/[a-f0-9]{32}/[a-f0-9-]{36}",
        64,
    ),
)

# Upper bounds keep a match short in a text that is one long run of token characters.
TOKEN_RULES: tuple[TokenRule, ...] = (
    _rule("Anthropic key", "sk-ant-", r"[A-Za-z0-9_-]{16,300}"),
    _rule("OpenAI key", "sk-", r"(?!ant-)(?:proj-|svcacct-|admin-|None-|or-v1-)?[A-Za-z0-9_-]{16,300}"),
    _rule("Stripe key", "sk_live_", r"[A-Za-z0-9]{10,250}"),
    _rule("Stripe key", "sk_test_", r"[A-Za-z0-9]{10,250}"),
    _rule("Stripe key", "rk_live_", r"[A-Za-z0-9]{10,250}"),
    _rule("Stripe key", "rk_test_", r"[A-Za-z0-9]{10,250}"),
    _rule("Stripe key", "whsec_", r"[A-Za-z0-9+/=]{24,250}"),
    *(_rule("GitHub token", f"gh{kind}_", r"[A-Za-z0-9]{20,255}") for kind in "opsur"),
    _rule("GitHub token", "github_pat_", r"[A-Za-z0-9_]{22,255}"),
    *(
        _rule("GitLab token", anchor, r"[A-Za-z0-9_.-]{16,300}")
        for anchor in ("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glsoat-", "glagent-", "gloas-")
    ),
    _rule("npm token", "npm_", r"[A-Za-z0-9]{24,100}"),
    _rule("PyPI token", "pypi-", r"AgE[A-Za-z0-9_-]{40,400}"),
    _rule("Hugging Face token", "hf_", r"[A-Za-z0-9]{24,100}"),
    _rule("Hugging Face token", "api_org_", r"[A-Za-z0-9]{24,100}"),
    *(_rule("AWS access key", anchor, r"[A-Z0-9]{16}(?![A-Za-z0-9])") for anchor in ("AKIA", "ASIA", "ABIA", "ACCA")),
    _rule("Google key", "AIza", r"[A-Za-z0-9_-]{32,40}(?![A-Za-z0-9_-])"),
    _rule("Google key", "GOCSPX-", r"[A-Za-z0-9_-]{20,60}"),
    _rule("Google key", "ya29.", r"[A-Za-z0-9_-]{20,400}"),
    _rule("Slack token", "xox", r"[abcdeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,300}"),
    _rule("Slack token", "xapp-", r"[A-Za-z0-9-]{20,300}"),
    _rule("Slack token", "hooks.slack.com/services/", r"[A-Z0-9]{8,14}/[A-Z0-9]{8,14}/[A-Za-z0-9]{20,30}"),
    _rule("SendGrid key", "SG.", r"[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}"),
    _rule("DigitalOcean token", "dop_v1_", r"[a-f0-9]{64}"),
    _rule("DigitalOcean token", "doo_v1_", r"[a-f0-9]{64}"),
    _rule("Docker token", "dckr_pat_", r"[A-Za-z0-9_-]{20,60}"),
    _rule("Databricks token", "dapi", r"[a-f0-9]{32}"),
    *(_rule("Shopify token", f"shp{kind}_", r"[A-Fa-f0-9]{32}") for kind in ("at", "ca", "pa", "ss")),
    _rule("Groq key", "gsk_", r"[A-Za-z0-9]{32,100}"),
    _rule("xAI key", "xai-", r"[A-Za-z0-9]{40,120}"),
    _rule("Perplexity key", "pplx-", r"[A-Za-z0-9]{32,80}"),
    _rule("Replicate token", "r8_", r"[A-Za-z0-9]{32,50}"),
    _rule("Tavily key", "tvly-", r"[A-Za-z0-9-]{20,60}"),
    _rule("Notion token", "ntn_", r"[A-Za-z0-9]{40,60}"),
    _rule("Linear key", "lin_api_", r"[A-Za-z0-9]{32,60}"),
    _rule("Postman key", "PMAK-", r"[A-Za-z0-9]{24}-[A-Za-z0-9]{34}"),
    _rule("Atlassian token", "ATATT3", r"[A-Za-z0-9_=.-]{40,400}"),
    _rule("Vault token", "hvs.", r"[A-Za-z0-9_-]{24,300}"),
    _rule("Supabase token", "sbp_", r"[a-f0-9]{40}"),
    _rule("Netlify token", "nfp_", r"[A-Za-z0-9]{36,60}"),
    _rule("Sentry token", "sntrys_", r"[A-Za-z0-9_=+/-]{40,400}"),
    _rule("private key", "AGE-SECRET-KEY-1", r"[A-Z0-9]{58}"),
    _rule("Adafruit key", "aio_", r"[A-Za-z0-9]{28}(?![A-Za-z0-9])"),
    _rule("Airtable token", "pat", r"[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    _rule("Alibaba Cloud key", "LTAI", r"[A-Za-z0-9]{12,24}(?![A-Za-z0-9])"),
    _rule("Artifactory key", "AKCp", r"[A-Za-z0-9]{60,80}(?![A-Za-z0-9])"),
    _rule("Bitbucket password", "ATBB", r"[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    _rule("Brevo key", "xkeysib-", r"[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    _rule("Contentful token", "CFPAT-", r"[A-Za-z0-9_-]{40,50}"),
    *(
        _rule("Doppler token", f"dp.{kind}.", r"[A-Za-z0-9_.-]{40,60}")
        for kind in ("pt", "st", "ct", "sa", "scim", "audit")
    ),
    *(
        _rule("Discord webhook", f"{host}/api/webhooks/", r"\d{16,20}/[A-Za-z0-9_-]{50,80}")
        for host in ("discord.com", "discordapp.com")
    ),
    _rule("Facebook token", "EAA", r"[A-Za-z0-9]{80,250}(?![A-Za-z0-9+/=])"),
    _rule("Figma token", "figd_", r"[A-Za-z0-9_-]{36,60}"),
    _rule("Fly token", "fo1_", r"[A-Za-z0-9_-]{40,60}"),
    _rule("Fly token", "fm2_", r"[A-Za-z0-9+/=_-]{60,800}"),
    _rule("Frame.io token", "fio-u-", r"[A-Za-z0-9_-]{50,80}"),
    _rule("Google refresh token", "1//0", r"[A-Za-z0-9_-]{40,200}"),
    *(_rule("Grafana token", f"{kind}_", r"[A-Za-z0-9]{32}_[a-f0-9]{8}") for kind in ("glsa", "glft")),
    _rule("Grafana token", "glc_eyJ", r"[A-Za-z0-9+/=]{40,400}"),
    _rule("Heroku key", "HRKU-", r"[A-Za-z0-9_-]{36,70}"),
    _rule("Mailgun key", "key-", r"(?<![\w-]key-)[a-f0-9]{32}(?![A-Za-z0-9])"),
    _rule("New Relic key", "NRAK-", r"[A-Z0-9]{27}"),
    _rule("NuGet key", "oy2", r"[a-z0-9]{43}(?![A-Za-z0-9])"),
    _rule("NVIDIA key", "nvapi-", r"[A-Za-z0-9_-]{60,80}"),
    _rule("1Password token", "ops_eyJ", r"[A-Za-z0-9_-]{100,2000}"),
    _rule("PlanetScale token", "pscale_tkn_", r"[A-Za-z0-9_.-]{32,64}"),
    _rule("PlanetScale password", "pscale_pw_", r"[A-Za-z0-9_.-]{32,64}"),
    _rule("Prefect key", "pnu_", r"[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    _rule("Pulumi token", "pul-", r"[a-f0-9]{40}(?![A-Za-z0-9])"),
    _rule("ReadMe key", "rdme_", r"[a-z0-9]{70}"),
    _rule("RubyGems key", "rubygems_", r"[a-f0-9]{48}"),
    *(_rule("Shippo token", f"shippo_{kind}_", r"[a-f0-9]{40}") for kind in ("live", "test")),
    *(_rule("SonarQube token", f"{kind}_", r"[a-f0-9]{40}(?![A-Za-z0-9])") for kind in ("sqp", "squ", "sqa")),
    *(_rule("Square token", anchor, r"[A-Za-z0-9_-]{22,60}") for anchor in ("sq0atp-", "sq0csp-", "EAAAE")),
    _rule("Tailscale key", "tskey-", r"[a-z]{2,12}-[A-Za-z0-9]{8,20}-[A-Za-z0-9]{20,60}"),
    _rule("Together key", "tgp_v1_", r"[A-Za-z0-9_-]{40,60}"),
    _rule("Twilio key", "SK", r"[a-f0-9]{32}(?![A-Za-z0-9])"),
    _rule("Typeform token", "tfp_", r"[A-Za-z0-9_.=-]{40,80}"),
    _rule("JSON web token", "eyJ", r"[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,8000}\.[A-Za-z0-9_-]{0,2000}"),
)

CREDENTIAL_WORD = re.compile(
    r"passw|passphrase|pwd|secret|token|api[_\- ]?key|access[_\- ]?key|private[_\- ]?key|auth[_-]?key|"
    r"account[_-]?key|encryption[_-]?key|signing[_-]?key|credential|(?:write|master|service|app|"
    r"application|license)[_-]key|"
    r"(?<![a-z])pw(?![a-z])|(?<![a-z])psk(?![a-z])|(?:_|user|db)pass(?![a-z])"
)
"""Lower-case words that name a credential; the key may go on behind them."""

KEY_REST = re.compile(r"[A-Za-z0-9_.\-]{0,40}(?: [A-Za-z]{1,14}){0,4} ?")
KEY_WORD = re.compile(r"[A-Z]?[a-z]+\d*|[A-Z]+\d*")
OPERATOR = re.compile(
    r"[\"'`*\]\\]{0,4}[ \t]{0,8}(?:=>|:=|={1,2}|:)[*]{0,3}[ \t]{0,8}|[\"'][ \t]{0,4},[ \t]{0,4}(?=[\"'])"
)
"""Between a key and its value; the last form is that of two arguments, `define('AUTH_KEY', '…')`."""

IS = re.compile(r"[A-Za-z0-9_.\-]{0,20}(?: (?!is )[A-Za-z]{1,14}){0,4} is:?[ \t]{1,2}(?=[^\s])")
"""Between a key and its value in a sentence: `the api key of the shop is VALUE`."""

BESIDE = re.compile(r"[ \t]{1,2}(?=[^\s])")
"""Between a key and its value where nothing else is: `login ines password VALUE`."""

QUOTED = re.compile(r"[rbuf]{0,2}\\?(?:\"([^\"\n]{1,256})\"|'([^'\n]{1,256})'|`([^`\n]{1,256})`)")
BARE = re.compile(r"[^\s\"'`,;<>|]{1,256}")
OPTION = re.compile(r"(?:[A-Za-z-]{0,20})(?:=|[ \t]{1,4})(?=[^\s-])")

HARMLESS_KEY = re.compile(
    r"(?:hash|hashed|sha\d*|digest|checksum|fingerprint|id|ids|url|uri|name|names|file|files|path|paths|dir|type|types|"
    r"count|counts|limit|limits|length|len|size|sizes|ttl|expiry|expires|expiration|date|at|policy|field|fields|label|"
    r"prompt|hint|budget|usage|env|var|variable|ref|arn|manager|version|bucket|endpoint|header|format|prefix|regex|"
    r"pattern|rotation|age|scope|scopes|provider|store|storage|source|location|kind|method|mode|"
    r"algorithm|tokens|secrets)$"
)
"""Ends of keys whose value describes a credential and is not one (`token_limit`, `secret_name`)."""

AUTHORIZATION = re.compile(
    r"authorization[\"'`*\\]{0,3}[ \t]{0,4}[:=,][ \t]{0,4}[\"'`*\\]{0,3}"
    r"(?:(bearer|basic|token|apikey|bot)[ \t]{1,4})?([A-Za-z0-9._~+/=\-]{6,4000})",
    re.IGNORECASE,
)
BEARER = re.compile(r"bearer[ \t]{1,4}([A-Za-z0-9._~+/=\-]{16,4000})", re.IGNORECASE)
USERINFO = re.compile(r"://[^\s/:@\"'`<>()|]{0,256}:([^\s/\"'`<>|]{1,256})@(?=[^\s@])")
PEM = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
PEM_END = re.compile(r"-----END (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
PEM_LINES = re.compile(r"(?:(?:\s|\\[nr]){1,8}[A-Za-z0-9+/=]{16,})*")
COMMAND = re.compile(
    r"(?:sshpass[ \t]{1,4}-p[ \t]{0,4}|(?:curl|wget)\b[^\n|;]{0,120}?[ \t](?:-u|--user)[ "
    r"\t=]{1,4}[\"']?[^\s:\"'@]{1,64}:|"
    r"mysql(?:dump|admin|import)?\b[^\n|;]{0,120}?[ \t]-p(?=[^\s-]))[\"']?([^\s\"'`|;<>]{6,128})"
)
"""A password that a program is given without a name: `curl -u user:…`, `sshpass -p …`, `mysql -p…`."""

COMMANDS = ("sshpass", "curl", "wget", "mysql")
COOKIE = re.compile(
    r"cookie[\"']?:[^\n]{0,200}?(?<![A-Za-z0-9])(?:[a-z_.-]{0,20}(?:session|sess|sid|auth|token|jwt)[a-z_.-]{0,12})="
    r"([A-Za-z0-9%._~+/=-]{16,4000})",
    re.IGNORECASE,
)
"""The cookie by which a server knows who is logged in."""

SIGNATURE = re.compile(r"([A-Za-z0-9%/+]{40,100})(?:=|%3D){0,2}(?![A-Za-z0-9])", re.IGNORECASE)
SIGNATURE_MARKS = ("?sv=", "&sv=", "&se=", "?se=", "&sp=", "?sig=")
"""What an address with a shared access signature of Azure has beside `sig=`."""

DOCKER_AUTH = re.compile(r"[\"']auth[\"'][ \t]{0,4}:[ \t]{0,4}[\"']([A-Za-z0-9+/=]{8,400})[\"']")
PGPASS = re.compile(
    r"^(?=[^:\n]*[A-Za-z*])[A-Za-z0-9.*_-]{1,80}:(?:[0-9]{2,5}|\*):(?:[A-Za-z][\w-]{0,40}|"
    r"\*):[A-Za-z][\w-]{0,40}:([^\s:]{8,128})$",
    re.MULTILINE,
)
"""A line of PostgreSQL's password file: host, port, database, user, password."""

SEED_PHRASE = re.compile(
    r"(?:seed|recovery|mnemonic|backup|wallet)[ _-]?(?:phrase|words|mnemonic)[^\n:=]{0,40}?(?:[:=]|\bis)[ \t\"'`]{1,4}"
    r"((?:[a-z]{3,8} ){11}(?:(?:[a-z]{3,8} ){3}){0,4}[a-z]{3,8})(?![ ]?[a-z])",
    re.IGNORECASE,
)
"""The words of a wallet: 12, 15, 18, 21 or 24 of them, each of three to eight letters (BIP 39)."""

NO_SEED = re.compile(
    r"\b(?:the|and|for|you|your|are|not|with|from|was|its|but|our|has|they|which|must)\b", re.IGNORECASE
)
"""Words of sentences that are not in the list of BIP 39."""

DISCORD = re.compile(
    r"(?<![A-Za-z0-9_.-])[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}(?![A-Za-z0-9_.-])"
)

AWS_SECRET = re.compile(r"(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")

PLACEHOLDER = re.compile(
    r"[<>{}…•]|\$\(|^\$|^%|%\(|\.\.\.|\*{3}|^[xX]{2,}$|(?<![A-Za-z0-9])[xX]{4,}|[xX]{8,}|\[[A-Za-z_ -]+\]|"
    r"(?:^|[^A-Za-z0-9])(?:your|example|examples|sample|dummy|fake|placeholder|changeme|"
    r"change-?me|redacted|masked|hidden|"
    r"removed|replace|replaceme|insert|todo|tbd|none|null|nil|undefined|empty|keychain|keyring|"
    r"1password|bitwarden|lastpass|"
    r"vault|env|environ|getenv|secrets|secretsmanager|config|settings|process|here|see|stored|string|required|optional)"
    r"(?:$|[^A-Za-z0-9])",
    re.IGNORECASE,
)
"""Marks of a stand-in: brackets, variables, stars, runs of x, and words set apart by punctuation."""

FILLER = re.compile(r"[x0*._-]+|.*x{8}.*", re.IGNORECASE)
"""What stands for the random part of a token in an example."""

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$", re.IGNORECASE)
CODE = re.compile(r"[()\[\]{}]|^[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+$|^[./~]|://|^[A-Z][A-Z_]*(?:_[A-Z0-9]+)+$")
"""A call, an index, a dotted name, a path, an address, a CONSTANT_NAME: where a value comes from."""

RESOURCE_NAME = re.compile(r"(?:[a-z]{3,20}-){2,6}[a-z0-9]{1,6}")
"""A generated name as clusters give it, such as `web-server-dockercfg-6wl6b`."""

WORD_PART = re.compile(r"[A-Za-z]{0,14}\d{0,4}|\d{1,4}[A-Za-z]{1,4}|v?\d+(?:\.\d+)*|\d{1,2}T\d{1,6}Z?")
"""One part of wordy text such as `rotate-every-90-days` or `sha256`."""

INVISIBLE = re.compile(
    r"[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    r"\uff01-\uff5e\U0001d400-\U0001d7ff\U000e0000-\U000e007f]"
)
"""Characters that show as nothing or as a styled ASCII letter, and so may disguise a credential."""
