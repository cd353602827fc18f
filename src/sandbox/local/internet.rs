//! The internet for one sandbox: a network namespace of its own, which `pasta` connects to public addresses.
//!
//! Nothing of this machine's network is in that namespace: abstract Unix sockets and the loopback belong to namespaces. What is
//! not public is closed by routes, which nobody inside may change.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, UdpSocket};
use std::path::{Path, PathBuf};

use ipnet::IpNet;
use reqwest::Url;
use serde::Deserialize;
use tokio::process::Command;

use super::bwrap::Starter;
use super::isolation::{find_on_path, sudo, unavailable};
use crate::egress::{ALLOW_HOST, AllowedHost, CLOSED};
use crate::sandbox::error::SandboxError;

/// The sandbox's address, in a block that nobody has.
const ADDRESS: &str = "192.0.0.18";
/// What it asks for names, and sends everything to.
const GATEWAY: &str = "192.0.0.17";
/// Bits of their network.
const PREFIX: &str = "30";
/// Its device.
const DEVICE: &str = "eth0";
/// The device by which `pasta` takes what a namespace sends.
const TUN: &str = "/dev/net/tun";
/// Ranges that are closed, as commands of `ip` for each family.
const ROUTES: [(&str, &str); 2] = [("-4", "routes-4"), ("-6", "routes-6")];
/// Closes the ranges, says so, and becomes the rest. Nothing else runs in the namespace before.
const OPEN: &str = r#"ip=$0; folder=$1; shift
"$ip" -4 -batch "$folder/routes-4" || exit 125
if [ -e /proc/net/if_inet6 ]; then "$ip" -6 -batch "$folder/routes-6" || exit 125; fi
echo "the sandbox has its network" >&2
exec "$@""#;
/// What that says.
const OPENED: &str = "the sandbox has its network";
/// Variables that name a proxy.
const PROXIES: [&str; 6] = [
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
];

/// Programs that open the internet to a sandbox.
#[derive(Debug)]
pub(super) struct Tools {
    pasta: PathBuf,
    ip: PathBuf,
}

/// The programs, where this machine has them and what they need.
pub(super) fn tools() -> Result<Tools, SandboxError> {
    let (pasta, ip) = (find_tool("pasta"), find_tool("ip"));
    let (Some(pasta), Some(ip)) = (&pasta, &ip) else {
        let missing = [(&pasta, "passt"), (&ip, "iproute2")];
        let missing = missing.into_iter().filter(|(found, _)| found.is_none());
        let packages: Vec<&str> = missing.map(|(_, package)| package).collect();
        return Err(unavailable(
            format!(
                "sandbox.network opens the internet, which takes {} on this machine",
                packages.join(" and ")
            ),
            format!("run `{}`", install_line(&packages)),
        ));
    };
    let tun = OpenOptions::new().read(true).write(true).open(TUN);
    tun.map_err(|error| {
        let remedy = match error.kind() {
            io::ErrorKind::PermissionDenied => format!("run `sudo chmod 0666 {TUN}`"),
            _ => format!("run `sudo modprobe tun`, or start the container with `--device {TUN}`"),
        };
        unavailable(
            format!("sandbox.network opens the internet, and {TUN} cannot be opened ({error})"),
            remedy,
        )
    })?;
    Ok(Tools {
        pasta: pasta.clone(),
        ip: ip.clone(),
    })
}

/// A program on `PATH`, or where distributions have those for the network.
fn find_tool(program: &str) -> Option<PathBuf> {
    let elsewhere = ["/usr/sbin", "/sbin"].map(|folder| Path::new(folder).join(program));
    find_on_path(program).or_else(|| elsewhere.into_iter().find(|path| path.is_file()))
}

/// The line that installs packages of Debian's names here.
fn install_line(packages: &[&str]) -> String {
    let managers = [
        ("apt-get", "apt-get install -y"),
        ("dnf", "dnf install -y"),
        ("pacman", "pacman -S --needed"),
        ("apk", "apk add"),
        ("zypper", "zypper install -y"),
    ];
    let found = managers
        .into_iter()
        .find(|(name, _)| find_on_path(name).is_some());
    let (manager, command) = found.unwrap_or(("", "apt-get install -y"));
    let names = packages.iter().map(|package| match (manager, *package) {
        ("dnf", "iproute2") => "iproute",
        (_, name) => name,
    });
    format!("{}{command} {}", sudo(), names.collect::<Vec<_>>().join(" "))
}

/// The internet as one sandbox has it.
#[derive(Debug)]
pub(super) struct Internet {
    tools: Tools,
    /// Ports of this machine's loopback that are opened.
    loopback: BTreeSet<u16>,
    routes: [String; 2],
    /// Names with their addresses, as lines of `hosts`.
    pub hosts: String,
    /// Something at an address of this machine that the sandbox must not reach.
    closed: Option<TcpListener>,
}

impl Internet {
    /// As this machine has it now, with what is `opened` besides.
    pub async fn new(opened: &[AllowedHost]) -> Result<Self, SandboxError> {
        let tools = tools()?;
        let mut closed = closed_ranges();
        for family in ["-4", "-6"] {
            closed.extend(on_link(&routes(&tools.ip, family).await?));
        }
        let mut plan = Plan::default();
        for host in opened {
            let ranges = host.ranges().await.map_err(|error| {
                let name = host.name().unwrap_or_default();
                let cause = format!("{ALLOW_HOST} {name}: no address is found ({error})");
                unavailable(cause, "correct the name, or give an address")
            })?;
            plan.open(host, &ranges)?;
        }
        for proxy in proxies_of_the_environment() {
            // One that has no address serves nobody.
            if let Ok(ranges) = proxy.ranges().await {
                plan.open(&proxy, &ranges)?;
            }
        }
        Ok(Self {
            tools,
            routes: [false, true].map(|is_v6| plan.routes(&closed, is_v6)),
            closed: plan.closed_listener()?,
            loopback: plan.loopback,
            hosts: plan.hosts,
        })
    }

    /// Files that the namespace and the sandbox are made from, by name.
    pub fn files(&self) -> Vec<(&'static str, String)> {
        let routes = ROUTES.iter().zip(&self.routes);
        routes
            .map(|((_, name), text)| (*name, text.clone()))
            .chain([
                ("resolv.conf", format!("nameserver {GATEWAY}\n")),
                ("nsswitch.conf", "hosts: files dns\n".to_owned()),
            ])
            .collect()
    }

    /// The address that must be out of reach.
    pub fn closed_address(&self) -> Option<String> {
        let address = self.closed.as_ref()?.local_addr().ok()?;
        Some(address.to_string())
    }

    /// What runs the words that follow in a namespace with the internet. `session` has the files.
    pub fn command(&self, starter: Starter, session: &Path) -> Command {
        let mut command = Command::new(&self.tools.pasta);
        command
            .args(pasta_arguments(starter, &self.loopback))
            .args(["--", "/bin/sh", "-c", OPEN])
            .arg(&self.tools.ip)
            .arg(session);
        command
    }
}

/// Why nothing ran, from the words of `pasta` and `ip`; None where the network was there.
pub(super) fn explain(stderr: &str) -> Option<SandboxError> {
    if stderr.contains(OPENED) {
        return None;
    }
    // Without a system log it says so for each of its lines.
    let words = stderr.lines().filter(|line| !line.ends_with("bytes to syslog"));
    let words = words.collect::<Vec<_>>().join("; ");
    Some(unavailable(
        format!("pasta did not open the internet to the sandbox ({words})"),
        "correct what it names; without `sandbox.network` none of it is needed",
    ))
}

fn pasta_arguments(starter: Starter, loopback: &BTreeSet<u16>) -> Vec<OsString> {
    let ports: Vec<String> = loopback.iter().map(u16::to_string).collect();
    let ports = match ports.as_slice() {
        [] => "none".to_owned(),
        ports => ports.join(","),
    };
    let mut words = vec!["--quiet", "--foreground"];
    if starter != Starter::User {
        // It would become `nobody`, who may not make a namespace for root's sandbox.
        words.extend(["--runas", "0", "--netns-only"]);
    }
    words.extend(["--config-net", "--ns-ifname", DEVICE]);
    words.extend(["--address", ADDRESS, "--netmask", PREFIX, "--gateway", GATEWAY]);
    words.extend(["--dns-forward", GATEWAY]);
    // Nothing of this machine's loopback but what is named, and nothing from outside.
    words.extend([
        "--no-map-gw",
        "-t",
        "none",
        "-u",
        "none",
        "-T",
        &ports,
        "-U",
        &ports,
    ]);
    words.into_iter().map(OsString::from).collect()
}

fn closed_ranges() -> BTreeSet<IpNet> {
    CLOSED.iter().filter_map(|range| range.parse().ok()).collect()
}

/// This machine's routes, as JSON.
async fn routes(ip: &Path, family: &str) -> Result<String, SandboxError> {
    let output = Command::new(ip)
        .args(["-json", family, "route", "show", "table", "all"])
        .env_clear()
        .kill_on_drop(true)
        .output()
        .await
        .map_err(SandboxError::io("start", ip))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    // A kernel without IPv6 has none.
    if family == "-6" {
        return Ok("[]".to_owned());
    }
    Err(unavailable(
        format!("`ip -json route` failed ({words})"),
        "install iproute2 4.13 or later",
    ))
}

#[derive(Deserialize)]
struct Route {
    dst: String,
    gateway: Option<String>,
    via: Option<serde_json::Value>,
    nexthops: Option<serde_json::Value>,
}

/// Networks that this machine is part of, and its own addresses: not all of them are private ones.
fn on_link(routes: &str) -> BTreeSet<IpNet> {
    let routes: Vec<Route> = serde_json::from_str(routes).unwrap_or_default();
    let direct = routes
        .into_iter()
        .filter(|route| route.gateway.is_none() && route.via.is_none() && route.nexthops.is_none());
    let ranges = direct.filter_map(|route| {
        let address = || route.dst.parse::<IpAddr>().map(IpNet::from);
        route.dst.parse::<IpNet>().or_else(|_| address()).ok()
    });
    // A tunnel may have the whole internet as its own network.
    let is_a_network = |range: &IpNet| range.prefix_len() >= if range.addr().is_ipv4() { 8 } else { 16 };
    ranges.filter(is_a_network).map(|range| range.trunc()).collect()
}

/// Proxies that this process's environment names.
fn proxies_of_the_environment() -> Vec<AllowedHost> {
    let values = PROXIES.iter().filter_map(|name| std::env::var(name).ok());
    let urls = values.filter_map(|value| match value.contains("://") {
        true => Url::parse(&value).ok(),
        false => Url::parse(&format!("http://{value}")).ok(),
    });
    urls.filter_map(|url| AllowedHost::of_url(&url)).collect()
}

/// What is opened besides public addresses.
#[derive(Default)]
struct Plan {
    rules: BTreeSet<(bool, String)>,
    ranges: Vec<IpNet>,
    loopback: BTreeSet<u16>,
    hosts: String,
}

impl Plan {
    fn open(&mut self, host: &AllowedHost, ranges: &[IpNet]) -> Result<(), SandboxError> {
        for range in ranges {
            let range = range.trunc();
            if let Some(name) = host.name() {
                let address = if is_loopback(range) {
                    Ipv4Addr::LOCALHOST.into()
                } else {
                    range.addr()
                };
                self.hosts.push_str(&format!("{address} {name}\n"));
            }
            if is_loopback(range) {
                // The sandbox has a loopback of its own, at which these ports lead to this machine's.
                let Some(port) = host.port else {
                    return Err(unavailable(
                        format!("{ALLOW_HOST} names this machine's loopback without a port"),
                        format!("write {ALLOW_HOST} 127.0.0.1:PORT"),
                    ));
                };
                self.loopback.insert(port);
                continue;
            }
            self.ranges.push(range);
            self.lookup(range, host.port);
        }
        Ok(())
    }

    fn lookup(&mut self, range: IpNet, port: Option<u16>) {
        let ports = match port {
            Some(port) => ["tcp", "udp"].map(|protocol| format!(" ipproto {protocol} dport {port}")),
            None => [String::new(), String::new()],
        };
        for port in ports {
            let rule = format!("rule add pref 5 to {range}{port} lookup main");
            self.rules.insert((range.addr().is_ipv6(), rule));
        }
    }

    /// Commands of `ip` that close ranges for one family.
    fn routes(&self, closed: &BTreeSet<IpNet>, is_v6: bool) -> String {
        let mut lines = Vec::new();
        if is_v6 {
            // Groups of the link would be found before any rule is.
            lines.push("route flush table local type multicast".to_owned());
        } else {
            for protocol in ["udp", "tcp"] {
                lines.push(format!(
                    "rule add pref 5 to {GATEWAY} ipproto {protocol} dport 53 lookup main"
                ));
            }
        }
        for range in closed.iter().filter(|range| range.addr().is_ipv6() == is_v6) {
            lines.push(if is_v6 {
                format!("route add unreachable {range} dev lo table 10")
            } else {
                // As addresses of the sandbox's own: a socket that is bound to a device sends what has no route, or an unreachable one, to
                // whoever is on the link. What such an address sends is dropped.
                format!("route add local {range} dev {DEVICE} table 10")
            });
        }
        lines.push("rule add pref 10 lookup 10".to_owned());
        let rules = self.rules.iter().filter(|(of_v6, _)| *of_v6 == is_v6);
        lines.extend(rules.map(|(_, rule)| rule.clone()));
        lines.join("\n") + "\n"
    }

    /// Listens at the address by which this machine reaches others, unless that is opened.
    fn closed_listener(&self) -> Result<Option<TcpListener>, SandboxError> {
        let own_address = || {
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
            // Sends nothing.
            socket.connect((GATEWAY, 9))?;
            socket.local_addr()
        };
        let Ok(own) = own_address() else {
            return Ok(None);
        };
        if self.ranges.iter().any(|range| range.contains(&own.ip())) {
            return Ok(None);
        }
        let listener = TcpListener::bind((own.ip(), 0));
        listener.map(Some).map_err(|error| {
            let cause = format!(
                "nothing can listen at {} to show that it is closed ({error})",
                own.ip()
            );
            unavailable(cause, "correct what it names")
        })
    }
}

fn is_loopback(range: IpNet) -> bool {
    match range {
        IpNet::V4(range) => range.addr().is_loopback(),
        IpNet::V6(range) => range.addr() == Ipv6Addr::LOCALHOST,
    }
}
