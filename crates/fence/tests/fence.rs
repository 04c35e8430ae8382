//! Commands behind the fence, held by the kernel of this machine; without Landlock each test says so and ends.

#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::unwrap_used, clippy::print_stderr)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
};

use loopwright_fence::{Environment, Fence, Grants, Refusal, RefusalKind, Step, support};

/// A home folder with a workspace and a key.
struct Ground {
    home: PathBuf,
    fence: Fence,
}

impl Ground {
    /// `None` where the kernel has no Landlock of at least this version.
    fn new(abi: u32) -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        if support().landlock.is_none_or(|has| has < abi) {
            eprintln!("skipped: Landlock {abi} is needed, here is {:?}", support());
            return None;
        }
        let name = format!("fence-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        for folder in ["work", "tmp", ".ssh", "other", ".config/gcloud"] {
            fs::create_dir_all(home.join(folder)).unwrap();
        }
        for file in [".ssh/id", "other/note", ".config/plain", ".config/gcloud/key"] {
            fs::write(home.join(file), "content\n").unwrap();
        }
        std::os::unix::fs::symlink(home.join(".ssh"), home.join("keys")).unwrap();
        let environment = Environment { home: Some(home.clone()), ..Environment::default() };
        let (workspace, temporary) = (home.join("work"), home.join("tmp"));
        Some(Self { fence: Fence { workspace, temporary, environment, ..Fence::default() }, home })
    }

    /// Whether a line of `sh` succeeds behind the fence, and what it writes.
    fn run(&self, line: &str) -> (bool, String) {
        self.run_in(&self.fence, line)
    }

    fn run_in(&self, fence: &Fence, line: &str) -> (bool, String) {
        let out = self.home.join("out");
        let file = fs::File::create(&out).unwrap();
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", line])
            .current_dir(&fence.workspace)
            .env("TMPDIR", &fence.temporary)
            .env("HOME", &self.home);
        command.stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file);
        let ended = fence.clone().spawn(command).unwrap().wait().unwrap();
        (ended.success(), fs::read_to_string(&out).unwrap())
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.home);
    }
}

#[test]
fn fence_lets_honest_work_be_done() {
    let Some(ground) = Ground::new(2) else { return };
    for line in [
        "ls -la / ~ . >/dev/null",
        "echo x > a && mkdir -p d/e && mv a d/e/b && cp d/e/b c && rm c && rm -r d",
        "f=$(mktemp) && echo x > \"$f\" && cat \"$f\"",
        "cat ~/other/note ~/.config/plain /etc/passwd | sort | wc -l",
        "sleep 0.01 & wait",
        "echo x > /dev/null; echo y > /dev/stdout; head -c 4 /dev/urandom > r",
        "ln -s target link && readlink link && mkfifo pipe",
        "sleep 5 & kill $!",
        "( trap 'exit 0' TERM; sh -c 'kill -TERM $PPID'; sleep 1; exit 1 )",
        "echo x > /dev/shm/loopwright-fence-$$ && rm /dev/shm/loopwright-fence-$$",
        "ls ~/.ssh",
        "printf 'a\\n' > t && sed -i s/a/b/ t && grep b t && tar cf t.tar t && tar xf t.tar",
    ] {
        let (done, output) = ground.run(line);
        assert!(done, "{line}: {output}");
    }
}

#[test]
fn fence_hides_what_is_private_by_whatever_way() {
    let Some(ground) = Ground::new(1) else { return };
    for line in [
        "cat ~/.ssh/id",
        "cat ~/keys/id",
        "cd ~/.ssh && cat id",
        "cat ~/.config/gcloud/key",
        "ln -s ~/.ssh/id l; cat l",
    ] {
        let (done, output) = ground.run(line);
        assert!(!done && !output.contains("content"), "{line}: {output}");
    }
    let mut open = ground.fence.clone();
    open.read.push(ground.home.join(".ssh"));
    assert_eq!(ground.run_in(&open, "cat ~/.ssh/id"), (true, "content\n".to_owned()));
}

#[test]
fn fence_holds_writes_in_the_workspace() {
    let Some(ground) = Ground::new(3) else { return };
    for line in [
        "echo x > ~/new",
        "echo x >> ~/other/note",
        "rm ~/other/note",
        "mkdir ~/made",
        "ln -s ../other/note n; echo x > n",
        "mv ~/other/note .",
        ": > ~/other/note",
        "ln ~/other/note hard",
    ] {
        let (done, output) = ground.run(line);
        assert!(!done, "{line}: {output}");
        assert_eq!(fs::read_to_string(ground.home.join("other/note")).unwrap(), "content\n", "{line}");
    }
    let mut open = ground.fence.clone();
    open.write.push(ground.home.join("other"));
    assert!(ground.run_in(&open, "echo x > ~/other/new && mv ~/other/note ~/other/moved").0);
    open.names.push(ground.home.clone());
    assert!(ground.run_in(&open, "rm -r ~/other").0);
    assert!(!ground.run_in(&open, "echo x > ~/.ssh/id").0);
}

#[test]
fn grants_of_named_paths_open_no_private_folder_unasked() {
    let Some(ground) = Ground::new(1) else { return };
    let of = |path: &str, changes, asked| {
        let paths = vec![ground.home.join(path)];
        Grants::of(&[Step { paths, changes, asked, ..Step::default() }], &ground.fence)
    };
    let at = |path: &str| ground.home.join(path);
    // Listed or searched: nothing is granted, whatever else stands in the line.
    for path in ["", ".ssh", ".ssh/id", "other"] {
        assert_eq!(of(path, false, false), Grants::default(), "{path}");
    }
    assert_eq!(of("other/new", true, false).write, [at("other"), at("other/new")]);
    assert_eq!(of(".ssh/id", true, false), Grants::default());
    assert_eq!(of(".ssh/id", true, true).write, [at(".ssh/id")]);
    // The folder above holds something private, or is the home folder: only names are made in it.
    for (path, above) in [(".config/plain", ".config"), ("new", "")] {
        let found = of(path, true, true);
        assert_eq!((found.write, found.names), (vec![at(path)], vec![ground.home.join(above).components().collect()]));
    }
    for wide in [".config", "", ".."] {
        assert_eq!(of(wide, true, true).write, Vec::<PathBuf>::new(), "{wide}");
    }
}

#[test]
fn fence_closes_the_network_and_the_sockets_of_others() {
    let Some(ground) = Ground::new(4) else { return };
    if !Command::new("python3").arg("-V").stdout(Stdio::null()).status().is_ok_and(|status| status.success()) {
        eprintln!("skipped: python3 is needed");
        return;
    }
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let socket = ground.home.join("agent");
    let _agent = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let port = server.local_addr().unwrap().port();
    let code = |what: String| format!("python3 -c 'import socket as s\n{what}'");
    let reach = [
        code(format!("s.create_connection((\"127.0.0.1\", {port}))")),
        code("s.socket().bind((\"127.0.0.1\", 0))".to_owned()),
        code(format!("s.socket(s.AF_INET, s.SOCK_DGRAM).sendto(b\"x\", (\"127.0.0.1\", {port}))")),
        code(format!("s.socket(s.AF_UNIX).connect(\"{}\")", socket.display())),
    ];
    let of = |network, sockets| Fence { network, sockets, ..ground.fence.clone() };
    for (at, line) in reach.iter().enumerate() {
        let to_program = at == 3;
        for (network, sockets) in [(false, false), (true, false), (false, true), (true, true)] {
            let (done, output) = ground.run_in(&of(network, sockets), line);
            let open = if to_program { sockets } else { network };
            assert_eq!(done, open, "{line} {network} {sockets}: {output}");
            assert!(done || output.contains("PermissionError"), "{line}: {output}");
        }
    }
    let raw =
        [code("s.socket(s.AF_UNIX, s.SOCK_DGRAM)".to_owned()), code("s.socket(s.AF_PACKET, s.SOCK_RAW)".to_owned())];
    for line in &raw {
        assert!(!ground.run(line).0, "{line}");
    }
    for line in [
        code("a, b = s.socketpair(); a.send(b\"x\"); assert b.recv(1)".to_owned()),
        code("s.if_nameindex()".to_owned()),
    ] {
        let (done, output) = ground.run(&line);
        assert!(done, "{line}: {output}");
    }
}

#[test]
fn fence_keeps_processes_outside_alone() {
    let Some(ground) = Ground::new(6) else { return };
    let mut outside = Command::new("sleep").arg("20").env("FENCE_SECRET", "hidden").spawn().unwrap();
    let pid = outside.id();
    for line in [format!("kill -0 {pid}"), format!("cat /proc/{pid}/environ"), format!("head -c 1 /proc/{pid}/mem")] {
        let (done, output) = ground.run(&line);
        assert!(!done && !output.contains("hidden"), "{line}: {output}");
    }
    assert!(outside.try_wait().unwrap().is_none());
    outside.kill().unwrap();
    outside.wait().unwrap();
}

#[test]
fn fence_bounds_what_a_command_takes() {
    let Some(ground) = Ground::new(1) else { return };
    let (done, output) = ground.run("sleep 0.05; ulimit -n; ulimit -c; cat /proc/self/oom_score_adj");
    let told: Vec<u64> = output.lines().filter_map(|line| line.parse().ok()).collect();
    assert!(done && told.len() == 3 && told[0] <= 65_536 && told[1] == 0 && told[2] >= 800, "{output}");
}

#[test]
fn fence_leaves_this_process_as_it_was() {
    let Some(ground) = Ground::new(1) else { return };
    ground.run("true");
    assert_eq!(fs::read_to_string(ground.home.join(".ssh/id")).unwrap(), "content\n");
    fs::write(ground.home.join("new"), "x").unwrap();
    std::net::TcpListener::bind("127.0.0.1:0").unwrap();
}

#[test]
fn refusals_are_told_by_path_and_kind() {
    let Some(ground) = Ground::new(3) else { return };
    let home = ground.home.clone();
    for (line, kind, path) in [
        ("echo x > ~/new", RefusalKind::Write, Some(home.join("new"))),
        ("cat ~/.ssh/id", RefusalKind::Read, Some(home.join(".ssh/id"))),
        ("cat ../.ssh/id", RefusalKind::Read, Some(home.join(".ssh/id"))),
        ("touch '../a b'", RefusalKind::Write, Some(home.join("a b"))),
        ("echo x > '../a b'", RefusalKind::Write, Some(home.join("a b"))),
        ("mkdir ~/made", RefusalKind::Write, Some(home.join("made"))),
    ] {
        let (_, output) = ground.run(line);
        let told = ground.fence.refusals(&output);
        assert_eq!(told, [Refusal { kind, path }], "{line}: {output}");
    }
    for harmless in ["cat: x: No such file or directory", "Permission denied (publickey).", "a/b: permission denied"] {
        assert_eq!(ground.fence.refusals(harmless), [], "{harmless}");
    }
    let lookup = "curl: (6) Could not resolve host: example.com";
    let trace =
        "  File \"a.py\", line 1, in <module>\n    sock = socket(af)\nPermissionError: [Errno 13] Permission denied";
    for told in [lookup, trace, "Error: connect EACCES 127.0.0.1:80", "dial tcp: socket: permission denied"] {
        assert_eq!(ground.fence.refusals(told)[0].kind, RefusalKind::Network, "{told}");
    }
    let open = Fence { network: true, ..ground.fence.clone() };
    assert_eq!(open.refusals(lookup), []);
    let agent = "PermissionError: connect to /run/user/1/agent.sock: Permission denied";
    assert!(open.refusals(agent).iter().any(|told| told.kind == RefusalKind::Sockets));
}

#[test]
fn refusals_of_hostile_output_take_bounded_work() {
    let Some(ground) = Ground::new(1) else { return };
    let words: String = (0..20_000).fold(String::new(), |text, at| text + &format!("/no/{at} "));
    let outputs = [
        format!("permission denied {words}"),
        "permission denied '/x\n".repeat(20_000),
        format!("permission denied {}", "é".repeat(20_000)),
        "permission denied socket ".repeat(20_000),
    ];
    let began = std::time::Instant::now();
    for output in &outputs {
        assert!(ground.fence.refusals(output).len() <= 8);
    }
    let paths = (0..100_000).map(|at| PathBuf::from(format!("/no/{at}"))).collect();
    Grants::of(&[Step { paths, changes: true, ..Step::default() }], &ground.fence);
    assert!(began.elapsed().as_secs() < 5, "{:?}", began.elapsed());
}
