//! Addresses of the internet that may be asked, by the registries of special purposes that IANA keeps.
//!
//! Of IPv4 all blocks are refused that are not globally reachable; of IPv6 only what is handed out to the world is
//! taken, and what wraps an IPv4 address is judged by that. Ports that speak other protocols are known, too.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns whether an address belongs to this machine, to a private or link-local network, to a special purpose, or to
/// no single host.
pub fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => is_private_v6(address),
    }
}

/// Blocks of IPv4 that are not globally reachable: the first address, and how many bits name the block.
const SPECIAL_V4: [([u8; 4], u32); 17] = [
    // "This network".
    ([0, 0, 0, 0], 8),
    ([10, 0, 0, 0], 8),
    // Shared by carriers.
    ([100, 64, 0, 0], 10),
    ([127, 0, 0, 0], 8),
    // Link-local; the metadata of clouds lives there.
    ([169, 254, 0, 0], 16),
    ([172, 16, 0, 0], 12),
    // Protocol assignments.
    ([192, 0, 0, 0], 24),
    // Documentation, three times.
    ([192, 0, 2, 0], 24),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    // Relays of 6to4, which lead somewhere else.
    ([192, 88, 99, 0], 24),
    ([192, 168, 0, 0], 16),
    // Benchmarks.
    ([198, 18, 0, 0], 15),
    // Multicast; its old documentation block lies in it.
    ([224, 0, 0, 0], 4),
    // Reserved, and the broadcast address.
    ([240, 0, 0, 0], 4),
    // Metadata and platform services that clouds keep outside the private blocks.
    ([168, 63, 129, 16], 32),
    ([100, 100, 100, 200], 32),
];

/// Blocks where machines tell their own secrets to whoever asks: link-local, and the metadata and platform services of
/// clouds.
const METADATA_V4: [([u8; 4], u32); 4] =
    [([169, 254, 0, 0], 16), ([168, 63, 129, 16], 32), ([100, 100, 100, 200], 32), ([192, 0, 0, 192], 32)];

/// Returns whether an address is refused even where private ones are allowed: link-local, or that of a metadata
/// service.
pub(super) fn is_metadata_address(address: IpAddr) -> bool {
    let v6 = match address {
        IpAddr::V4(address) => return is_one_of(&METADATA_V4, address),
        IpAddr::V6(address) => address,
    };
    match v6.segments() {
        [first, ..] if first & 0xffc0 == 0xfe80 => true,
        // Amazon's and Google's.
        [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254] | [0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254] => true,
        // IPv4 in the clothes of IPv6, in all of them.
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, .., high, low]
        | [0x2002, high, low, ..]
        | [_, _, _, _, 0 | 0x200, 0x5efe, high, low] => is_one_of(&METADATA_V4, within(high, low)),
        _ => false,
    }
}

fn is_one_of(blocks: &[([u8; 4], u32)], address: Ipv4Addr) -> bool {
    blocks.iter().any(|(block, bits)| {
        let shift = 32 - bits;
        u32::from(address) >> shift == u32::from_be_bytes(*block) >> shift
    })
}

/// The IPv4 address in two groups of one of IPv6.
const fn within(high: u16, low: u16) -> Ipv4Addr {
    let ([first, second], [third, fourth]) = (high.to_be_bytes(), low.to_be_bytes());
    Ipv4Addr::new(first, second, third, fourth)
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    is_one_of(&SPECIAL_V4, address)
}

fn is_private_v6(address: Ipv6Addr) -> bool {
    let wrapped = |high: u16, low: u16| is_private_v4(within(high, low));
    match address.segments() {
        // IPv4 in the clothes of IPv6: mapped, and translated by NAT64.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => wrapped(high, low),
        // What is not handed out to the world: loopback, unspecified, what once was compatible with IPv4 (::/96), SIIT
        // (::ffff:0:0:0/96), local NAT64 (64:ff9b:1::/48), discard and dummy (100::/64, 100:0:0:1::/64), segments
        // (5f00::/16), unique local, link-local, site-local, multicast, and all that has no purpose yet.
        [first, ..] if first & 0xe000 != 0x2000 => true,
        // Protocol assignments, Teredo, benchmarks and ORCHID (2001::/23); documentation.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => true,
        // 6to4 and ISATAP lead to the IPv4 address that they hold.
        [0x2002, high, low, ..] | [_, _, _, _, 0 | 0x200, 0x5efe, high, low] => wrapped(high, low),
        _ => false,
    }
}

/// Ports that browsers ask no page from, since what listens there takes a request for something else: mail, shells,
/// files, printers, telephones. The list is that of the Fetch standard.
#[rustfmt::skip]
const OTHER_PROTOCOLS: [u16; 83] = [
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
    111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
    540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061,
    6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
];

/// Returns whether a port belongs to another protocol than the web's.
pub(super) fn is_other_protocol_port(port: u16) -> bool {
    OTHER_PROTOCOLS.binary_search(&port).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_known_in_every_form() {
        for address in "127.0.0.1 127.9.9.9 10.0.0.1 172.16.0.1 192.168.1.1 169.254.169.254 0.0.0.0 0.1.2.3 100.64.0.1 \
             100.127.255.255 224.0.0.1 255.255.255.255 198.18.0.1 198.19.255.255 240.0.0.1 192.0.0.8 \
             192.0.2.1 198.51.100.1 203.0.113.1 192.88.99.1 233.252.0.1 ::1 :: fe80::1 febf::1 fc00::1 \
             fd12::1 fec0::1 ff02::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::127.0.0.1 ::8.8.8.8 \
             ::ffff:0:127.0.0.1 ::ffff:0:8.8.8.8 64:ff9b::a00:1 64:ff9b::127.0.0.1 64:ff9b:1::1 \
             64:ff9b:1::8.8.8.8 64:ff9b:1:ffff::1 64:ff9b:2::1 100::1 100:0:0:1::1 5f00::1 2001::1 \
             2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:2::1 2001:10::1 2001:2f::1 2001:30::1 2001:db8::1 \
             3fff::1 3fff:fff::1 2002:7f00:1:: 2002:a00:1::1 2002:c0a8:101::1 4000::1 8000::1 \
             2606:4700::5efe:10.0.0.1 2606:4700::200:5efe:192.168.0.1"
            .split(' ')
        {
            assert!(is_private(address.parse().unwrap()), "{address}");
        }
        for address in "1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.1 100.63.255.255 100.128.0.1 126.255.255.255 128.0.0.1 \
             169.253.0.1 172.15.0.1 172.32.0.1 192.0.1.1 192.88.98.1 192.167.0.1 198.17.0.1 198.20.0.1 \
             223.255.255.255 2606:4700::1111 2001:200::1 2001:4860:4860::8888 2620:4f:8000::1 3fff:1000::1 \
             ::ffff:8.8.8.8 64:ff9b::808:808 2002:808:808::1"
            .split(' ')
        {
            assert!(!is_private(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn link_local_and_metadata_are_known_in_every_form() {
        for address in "169.254.169.254 169.254.0.1 168.63.129.16 100.100.100.200 192.0.0.192 fe80::1 febf::1 \
             fd00:ec2::254 fd20:ce::254 ::ffff:169.254.169.254 ::169.254.1.2 ::ffff:0:169.254.1.2 64:ff9b::a9fe:a9fe \
             64:ff9b:1::a9fe:a9fe 2002:a9fe:a9fe:: 2606:4700::5efe:169.254.1.2"
            .split(' ')
        {
            let address = address.parse().unwrap();
            assert!(is_metadata_address(address) && is_private(address), "{address}");
        }
        for address in "127.0.0.1 10.0.0.1 192.168.1.1 100.64.0.1 100.100.100.201 ::1 fd12::1 fec0::1 8.8.8.8 \
             ::ffff:127.0.0.1 2606:4700::1111"
            .split(' ')
        {
            assert!(!is_metadata_address(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn ports_of_other_protocols_are_known() {
        assert!(OTHER_PROTOCOLS.windows(2).all(|pair| pair[0] < pair[1]), "they are looked up by halves");
        assert!([0, 22, 25, 6667, 10080].into_iter().all(is_other_protocol_port));
        assert!(![80, 443, 3000, 5000, 8000, 8080, 8443, 8888, 9200].into_iter().any(is_other_protocol_port));
    }
}
