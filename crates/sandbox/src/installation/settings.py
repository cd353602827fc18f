"""What pip is configured with, as uv takes it: pip's files and variables say where packages come from, and whom to trust.

As a program it prints that as JSON. Its argument is the days that a release must have been there.
"""

import configparser
import json
import os
import re
import sys
from urllib.request import url2pathname

# Where systems have the authorities that everybody trusts.
AUTHORITIES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
# Settings that change nothing of what is installed here, or that this installation decides itself.
OF_NO_MATTER = """
    break-system-packages cache-dir compile disable-pip-version-check exists-action isolated log no-cache-dir no-color no-compile no-input
    no-python-version-warning no-warn-conflicts no-warn-script-location only-binary prefer-binary progress-bar python quiet
    require-virtualenv resume-retries root-user-action src upgrade upgrade-strategy use-deprecated use-feature user verbose config-file
""".split()
# What uv reads of its own variables, where somebody has set them for it.
OF_UV = re.compile(r"UV_((DEFAULT_|EXTRA_)?INDEX(_URL)?|INDEX_\w+_(USERNAME|PASSWORD)|FIND_LINKS|NO_INDEX|INSECURE_HOST|HTTP_\w+|SYSTEM_CERTS)")
OF_THE_NETWORK = re.compile(r"(https?|all|no)_proxy|ssl_cert_(file|dir)|ssl_client_cert|netrc", re.IGNORECASE)


def configured(environ):
    """pip's settings for an installation: files, then variables, the last one counts."""
    found, named = {}, environ.get("PIP_CONFIG_FILE")
    home = os.path.expanduser("~")
    folders = environ.get("XDG_CONFIG_DIRS", "/etc/xdg").split(":")
    own = environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    files = [os.path.join(folder, "pip/pip.conf") for folder in folders]
    files += ["/etc/pip.conf", os.path.join(home, ".pip/pip.conf"), os.path.join(own, "pip/pip.conf")]
    files += [os.path.join(sys.prefix, "pip.conf"), named or ""]
    for file in [] if named == os.devnull else files:
        parser = configparser.RawConfigParser()
        try:
            parser.read(file, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError) as error:
            sys.exit(f"pip cannot read its settings: {' '.join(str(error).split())}")
        for section in ("global", "install"):
            if parser.has_section(section):
                found.update((name.lower().replace("_", "-"), value) for name, value in parser.items(section))
    for name, value in environ.items():
        if name.startswith("PIP_") and value:
            found[name[4:].lower().replace("_", "-")] = value
    if "default-timeout" in found:
        found.setdefault("timeout", found["default-timeout"])
    return found


def is_set(value):
    return value is not None and value.strip().lower() in ("1", "true", "yes", "on")


def settings(environ, days=0):
    """Options of uv, its variables, files that it reads, and names of settings that it has nothing like."""
    pip, options, files = configured(environ), [], []
    env = {name: value for name, value in environ.items() if OF_UV.fullmatch(name) or OF_THE_NETWORK.fullmatch(name)}
    take = pip.pop
    pip.pop("default-timeout", None)
    # As variables: an address may hold a password, and every process of this user sees options.
    if index := take("index-url", None):
        env["UV_DEFAULT_INDEX"] = index.strip()
    if more := take("extra-index-url", "").split():
        env["UV_INDEX"] = " ".join(more)
    if is_set(take("no-index", None)):
        options.append("--no-index")
    left_out = []
    links = take("find-links", "").split() + (env.pop("UV_FIND_LINKS", "").split(",") if days else [])
    for place in filter(None, links):
        if days:
            # A list of links has no dates.
            left_out.append(f"find-links {place}, since nobody says when its releases were made")
            continue
        if "://" not in place or place.startswith("file:"):
            place = url2pathname(place[len("file:") :]) if place.startswith("file:") else place
            place = os.path.abspath(os.path.expanduser(place))
            if not os.path.exists(place):
                continue
            files.append(place)
        options += ["--find-links", place]
    for host in take("trusted-host", "").split():
        options += ["--allow-insecure-host", host]
    for file in take("constraint", "").split():
        files.append(os.path.abspath(file))
        options += ["--constraints", files[-1]]
    if is_set(take("pre", None)):
        options += ["--prerelease", "allow"]
    authorities = take("cert", None) or environ.get("REQUESTS_CA_BUNDLE") or environ.get("CURL_CA_BUNDLE")
    if authorities:
        env["SSL_CERT_FILE"] = os.path.abspath(authorities)
        # These and nobody else.
        env.pop("SSL_CERT_DIR", None)
    elif "SSL_CERT_FILE" not in env and any(map(os.path.exists, AUTHORITIES)):
        env.setdefault("UV_SYSTEM_CERTS", "true")
    if client := take("client-cert", None):
        env["SSL_CLIENT_CERT"] = os.path.abspath(client)
    if proxy := take("proxy", None):
        proxy = proxy if "://" in proxy else f"http://{proxy}"
        env.update(HTTP_PROXY=proxy, HTTPS_PROXY=proxy)
    for name, variable in (("timeout", "UV_HTTP_TIMEOUT"), ("retries", "UV_HTTP_RETRIES")):
        if value := take(name, None):
            env[variable] = str(int(float(value)))
    env.setdefault("UV_HTTP_RETRIES", "5")
    netrc = env.get("NETRC") or os.path.expanduser("~/.netrc")
    if os.path.exists(netrc):
        env["NETRC"] = netrc
    files += [env[name] for name in ("SSL_CERT_FILE", "SSL_CERT_DIR", "SSL_CLIENT_CERT", "NETRC") if name in env]
    left_out += sorted(name for name, value in pip.items() if name not in OF_NO_MATTER and value.strip())
    return {"options": options, "env": env, "files": files, "leftOut": left_out}


if __name__ == "__main__":
    json.dump(settings(dict(os.environ), int(sys.argv[1])), sys.stdout)
