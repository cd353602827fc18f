//! The internet for one sandbox: a network namespace of its own, which `pasta` connects to public addresses.
//!
//! Nothing of this machine's network is in that namespace: abstract Unix sockets and the loopback belong to namespaces. What is
//! not public is closed by routes, which nobody inside may change.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write as _;
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
use crate::error::SandboxError;
use codegen_egress::{ALLOW_HOST, AllowedHost, CLOSED};

/// The sandbox's address, in a block that nobody has.
const ADDRESS: &str = "192.0.0.18";
/// The other end: its name server, and its way to everything.
const GATEWAY: &str = "192.0.0.17";
/// Bits of their network.
const PREFIX: &str = "30";
/// Its device.
const DEVICE: &str = "eth0";
/// The device by which `pasta` takes what a namespace sends.
const TUN: &str = "/dev/net/tun";
/// Files with the commands of `ip` that close ranges, for each family.
const ROUTES: [&str; 2] = ["routes-4", "routes-6"];
/// Closes the ranges, says so, and becomes the rest. Nothing else runs in the namespace before.
const OPEN: &str = r#"ip=$0; folder=$1; shift
"$ip" -4 -batch "$folder/routes-4" || exit 125
if [ -e /proc/net/if_inet6 ]; then "$ip" -6 -batch "$folder/routes-6" || exit 125; fi
echo "the sandbox has its network" >&2
exec "$@""#;
/// The line by which that says so.
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
pub(super) struct InternetPrograms {
    pasta: PathBuf,
    ip: PathBuf,
}

/// Finds the programs, and refuses a machine that lacks one or what they need.
pub(super) fn tools() -> Result<InternetPrograms, SandboxError> {
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
    Ok(InternetPrograms {
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
    tools: InternetPrograms,
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
            let routes = routes(&tools.ip, family).await?;
            let on_link = on_link(&routes).map_err(|error| {
                unavailable(
                    format!("the output of `ip -json route` cannot be read ({error})"),
                    "install iproute2 4.13 or later",
                )
            })?;
            closed.extend(on_link);
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
            .map(|(name, text)| (*name, text.clone()))
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

    /// A command that runs the words that follow in a namespace with the internet. `session` has the files.
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

/// An error of the words of `pasta` and `ip`; None where the network was there.
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
fn on_link(routes: &str) -> serde_json::Result<BTreeSet<IpNet>> {
    let routes: Vec<Route> = serde_json::from_str(routes)?;
    let direct = routes
        .into_iter()
        .filter(|route| route.gateway.is_none() && route.via.is_none() && route.nexthops.is_none());
    let ranges = direct.filter_map(|route| {
        let address = || route.dst.parse::<IpAddr>().map(IpNet::from);
        route.dst.parse::<IpNet>().or_else(|_| address()).ok()
    });
    // A tunnel may have the whole internet as its own network.
    let is_a_network = |range: &IpNet| range.prefix_len() >= if range.addr().is_ipv4() { 8 } else { 16 };
    Ok(ranges.filter(is_a_network).map(|range| range.trunc()).collect())
}

/// Proxies that this process's environment names.
fn proxies_of_the_environment() -> Vec<AllowedHost> {
    let values = PROXIES.iter().filter_map(|name| std::env::var(name).ok());
    let urls = values.filter_map(|value| {
        let has_scheme = value.contains("://");
        Url::parse(&if has_scheme {
            value
        } else {
            format!("http://{value}")
        })
        .ok()
    });
    urls.filter_map(|url| AllowedHost::of_url(&url)).collect()
}

/// Addresses and ports that are opened besides public ones.
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
                // Writing to memory cannot fail.
                let _ = writeln!(self.hosts, "{address} {name}");
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
        // By IPv6 the rule itself counts for every socket. By IPv4 a socket that is bound to a device sends what finds no way to whoever
        // is on the link, so that closed ranges are addresses of the sandbox's own. What others send from such an address is dropped.
        for range in closed.iter().filter(|range| range.addr().is_ipv6() == is_v6) {
            lines.push(if is_v6 {
                format!("rule add pref 10 to {range} unreachable")
            } else {
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

#[cfg(test)]
mod tests {
    use super::*;

    async fn plan(opened: &[&str]) -> Result<Plan, SandboxError> {
        let mut plan = Plan::default();
        for text in opened {
            let host: AllowedHost = text.parse().unwrap();
            plan.open(&host, &host.ranges().await.unwrap())?;
        }
        Ok(plan)
    }

    #[test]
    fn networks_of_this_machine_and_its_addresses_are_on_its_link() {
        let routes = r#"[
            {"dst":"default","gateway":"203.0.113.1","dev":"eth0"},
            {"dst":"0.0.0.0/1","dev":"tun0","scope":"link"},
            {"dst":"203.0.113.0/24","dev":"eth0","protocol":"kernel","scope":"link"},
            {"type":"local","dst":"203.0.113.5","dev":"eth0","table":"local"},
            {"dst":"198.51.100.0/24","gateway":"203.0.113.9","dev":"eth0"},
            {"dst":"2001:db8:77::/64","dev":"eth0"},
            {"dst":"default","via":{"family":"inet6","host":"fe80::1"},"dev":"eth0"}
        ]"#;
        let found: Vec<String> = on_link(routes).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(found, ["203.0.113.0/24", "203.0.113.5/32", "2001:db8:77::/64"]);
    }

    #[tokio::test]
    async fn what_is_opened_goes_before_what_is_closed() {
        let plan = plan(&["10.0.0.0/8", "192.168.1.5:80", "[fd00::1]:443"])
            .await
            .unwrap();
        let closed = closed_ranges();
        let v4 = plan.routes(&closed, false);
        assert!(
            v4.contains("route add local 10.0.0.0/8 dev eth0 table 10\n"),
            "{v4}"
        );
        assert!(v4.contains("rule add pref 10 lookup 10\n"), "{v4}");
        assert!(v4.contains("rule add pref 5 to 10.0.0.0/8 lookup main\n"), "{v4}");
        assert!(
            v4.contains("rule add pref 5 to 192.168.1.5/32 ipproto tcp dport 80 lookup main\n"),
            "{v4}"
        );
        assert!(!v4.contains("fd00"), "{v4}");
        let v6 = plan.routes(&closed, true);
        assert!(v6.contains("rule add pref 10 to fe80::/10 unreachable\n"), "{v6}");
        assert!(
            v6.contains("to fd00::1/128 ipproto udp dport 443 lookup main\n"),
            "{v6}"
        );
    }

    #[tokio::test]
    async fn of_the_loopback_one_port_is_opened_and_never_all() {
        let opened = plan(&["127.0.0.1:5432"]).await.unwrap();
        assert_eq!(opened.loopback, BTreeSet::from([5432]));
        assert!(opened.rules.is_empty() && opened.ranges.is_empty());
        let refused = plan(&["127.0.0.1"]).await.map(drop).unwrap_err();
        assert!(
            refused.to_string().contains("--allow-host 127.0.0.1:PORT"),
            "{refused}"
        );
        let words = pasta_arguments(Starter::User, &opened.loopback);
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        let words = words.join(" ");
        assert!(
            words.contains("--no-map-gw -t none -u none -T 5432 -U 5432"),
            "{words}"
        );
        let words = pasta_arguments(Starter::Root { user: 62_001 }, &BTreeSet::new());
        assert!(words.iter().any(|word| word == "--netns-only"), "{words:?}");
    }

    #[test]
    fn words_of_pasta_are_an_error_where_the_network_was_not_there() {
        let words = "Failed to send 4 bytes to syslog\nFailed to open tun socket in namespace\n";
        let error = explain(words).unwrap().to_string();
        assert!(
            error.contains("(Failed to open tun socket in namespace)"),
            "{error}"
        );
        assert!(explain("the sandbox has its network\nTraceback").is_none());
    }
}
