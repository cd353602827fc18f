//! Test for addresses that belong to the public internet. Pure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

/// Ranges that are nobody's public address: private, shared, link-local and reserved ones, among them every cloud's metadata
/// service.
pub const CLOSED: [&str; 19] = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    // Azure's wire server, at a public address: it hands out what a machine is configured with.
    "168.63.129.16/32",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "::/127",
    "64:ff9b::/96",
    "64:ff9b:1::/48",
    "2002::/16",
    "fc00::/7",
    "fe80::/10",
    "ff00::/8",
];
/// All of IPv6 that is routed publicly, and what of it is set aside: protocols (Teredo among them), documentation, 6to4.
const PUBLIC_V6: &str = "2000::/3";
const SET_ASIDE_V6: [&str; 4] = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"];
/// IPv4 through a translator: the last four bytes are the address.
const TRANSLATED: &str = "64:ff9b::/96";

/// Reports whether an address is one of the public internet, also in the forms that hide an IPv4 address in an IPv6 one.
pub(super) fn is_public(address: IpAddr) -> bool {
    // `::ffff:10.0.0.1` is 10.0.0.1 for whoever connects.
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        address @ IpAddr::V6(_) => match translated(address) {
            Some(behind) => is_public(behind),
            // For IPv6 what is not allocated to the public is refused, so a new private range needs no entry here.
            None => is_in(address, PUBLIC_V6) && !SET_ASIDE_V6.iter().any(|range| is_in(address, range)),
        },
    }
}

/// The address of IPv4 that a translator makes of one of IPv6.
pub(super) fn translated(address: IpAddr) -> Option<IpAddr> {
    match address {
        IpAddr::V6(inner) if is_in(address, TRANSLATED) => Some(last_four(inner).into()),
        _ => None,
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    !CLOSED.iter().any(|range| is_in(address.into(), range))
}

fn last_four(address: Ipv6Addr) -> Ipv4Addr {
    let [.., a, b, c, d] = address.octets();
    Ipv4Addr::new(a, b, c, d)
}

fn is_in(address: IpAddr, range: &str) -> bool {
    range.parse::<IpNet>().is_ok_and(|range| range.contains(&address))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("1.1.1.1", true)]
    #[case("100.63.255.255", true)]
    #[case("172.32.0.1", true)]
    #[case("2606:4700::1111", true)]
    #[case("::ffff:1.1.1.1", true)]
    #[case("64:ff9b::101:101", true)]
    #[case("0.0.0.0", false)]
    #[case("10.1.2.3", false)]
    #[case("100.64.0.1", false)]
    #[case("127.0.0.1", false)]
    #[case("168.63.129.16", false)]
    #[case("169.254.169.254", false)]
    #[case("172.16.0.1", false)]
    #[case("192.168.1.1", false)]
    #[case("224.0.0.1", false)]
    #[case("255.255.255.255", false)]
    #[case("::", false)]
    #[case("::1", false)]
    #[case("::ffff:10.0.0.1", false)]
    #[case("::ffff:169.254.169.254", false)]
    #[case("::7f00:1", false)]
    #[case("64:ff9b::a00:1", false)]
    #[case("64:ff9b:1::1", false)]
    #[case("2001::1", false)]
    #[case("2002:a00:1::", false)]
    #[case("fc00::1", false)]
    #[case("fd00:ec2::254", false)]
    #[case("fe80::1", false)]
    #[case("fec0::1", false)]
    #[case("ff02::1", false)]
    fn only_addresses_of_the_public_internet_are_public(#[case] address: &str, #[case] public: bool) {
        assert_eq!(is_public(address.parse().unwrap()), public);
    }

    #[test]
    fn every_range_can_be_read() {
        let all = CLOSED
            .iter()
            .chain(&SET_ASIDE_V6)
            .chain([&PUBLIC_V6, &TRANSLATED]);
        for range in all {
            assert!(range.parse::<IpNet>().is_ok(), "{range}");
        }
    }
}
