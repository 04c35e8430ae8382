//! The part of the fence that seccomp keeps: the network that Landlock does not know, and two ways around it.
//!
//! Closed are sockets of every family but those between processes of this machine, and to connect one of these: whoever
//! speaks to the socket of Docker, of systemd or of an agent for keys has others work for him. With the network open
//! none of these can be made, since a filter does not see what is connected. Pairs of sockets are free.
//!
//! `io_uring` would do the same past the filter, so programs are told that there is none, and the second numbering of
//! system calls on x86-64 is closed whole.

use std::{collections::BTreeMap, env::consts::ARCH, io};

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen::Dword, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter, sock_filter,
};

/// Of a socket's type, what is no flag.
const KIND: u64 = 0xf;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Restricts this thread and all it starts.
pub(crate) fn restrict(network: bool, sockets: bool) -> io::Result<()> {
    let arch = TargetArch::try_from(ARCH).map_err(io::Error::other)?;
    if !(network && sockets) {
        apply(&closed(network, sockets).map_err(io::Error::other)?, libc::EACCES, arch)?;
        apply(&BTreeMap::from([(number(libc::SYS_io_uring_setup), Vec::new())]), libc::ENOSYS, arch)?;
    }
    apply(&terminals().map_err(io::Error::other)?, libc::EPERM, arch)
}

fn apply(rules: &Rules, error: i32, arch: TargetArch) -> io::Result<()> {
    let told = SeccompAction::Errno(error as u32);
    let filter = SeccompFilter::new(rules.clone(), SeccompAction::Allow, told, arch).map_err(io::Error::other)?;
    let program: BpfProgram = filter.try_into().map_err(io::Error::other)?;
    let whole: Vec<sock_filter> = second_numbering().into_iter().chain(program).collect();
    apply_filter(&whole).map_err(io::Error::other)
}

/// Instructions that refuse the numbers of the x32 ABI, which mean the same calls and would pass as unknown ones.
fn second_numbering() -> Vec<sock_filter> {
    const X32: u32 = 0x4000_0000;
    if ARCH != "x86_64" {
        return Vec::new();
    }
    let code = |class: u32, jt, jf, k| sock_filter { code: class as u16, jt, jf, k };
    vec![
        code(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        code(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, X32),
        code(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
    ]
}

/// The number of a system call, on machines of any width.
#[allow(clippy::useless_conversion)]
fn number(call: libc::c_long) -> i64 {
    i64::from(call)
}

fn is(argument: u8, operator: SeccompCmpOp, value: i32) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, Dword, operator, value as u64)
}

fn closed(network: bool, sockets: bool) -> Result<Rules, seccompiler::BackendError> {
    use SeccompCmpOp::{Eq, MaskedEq, Ne};
    let (unix, netlink) = (libc::AF_UNIX, libc::AF_NETLINK);
    // Packets go to any address without a connection.
    let packets = |kind| SeccompRule::new(vec![is(0, Eq, unix)?, is(1, MaskedEq(KIND), kind)?]);
    let packets = [packets(libc::SOCK_DGRAM)?, packets(libc::SOCK_RAW)?];
    let (mut made, mut rules) = (Vec::new(), Rules::new());
    if network {
        made.push(SeccompRule::new(vec![is(0, Eq, unix)?])?);
    } else {
        made.push(SeccompRule::new(vec![is(0, Ne, unix)?, is(0, Ne, netlink)?])?);
        // Of the kernel's own messages, those that tell which networks there are: name lookups ask for them.
        made.push(SeccompRule::new(vec![is(0, Eq, netlink)?, is(2, Ne, libc::NETLINK_ROUTE)?])?);
        if !sockets {
            made.extend(packets.clone());
            rules.insert(number(libc::SYS_connect), Vec::new());
        }
    }
    rules.insert(number(libc::SYS_socket), made);
    if !sockets {
        rules.insert(number(libc::SYS_socketpair), packets.to_vec());
    }
    Ok(rules)
}

/// What would put keystrokes into the terminal of whoever started us.
fn terminals() -> Result<Rules, seccompiler::BackendError> {
    const TIOCLINUX: i32 = 0x541c;
    let one = |request| SeccompRule::new(vec![is(1, SeccompCmpOp::Eq, request)?]);
    Ok(BTreeMap::from([(number(libc::SYS_ioctl), vec![one(libc::TIOCSTI as i32)?, one(TIOCLINUX)?])]))
}
