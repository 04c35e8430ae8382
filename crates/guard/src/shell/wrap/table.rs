//! The programs that run what stands behind them, a line for each: how many words and which options come first,
//! whether the rest is words or text, whether it runs as another user or on another machine.

use super::super::Via;

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Mode {
    /// The words that follow are the command.
    Words,
    /// All words that follow, joined by blanks, are shell text.
    Joined,
}

pub(super) struct Wrapper {
    pub(super) names: &'static [&'static str],
    /// The words that must stand next for this to be so, each one of alternatives: `exec|run`.
    pub(super) sub: &'static [&'static str],
    /// Options that take a value.
    pub(super) valued: &'static str,
    /// Words before the command that are no options.
    pub(super) skip: usize,
    pub(super) mode: Mode,
    pub(super) via: Via,
    pub(super) elevated: bool,
}

const fn wrapper(names: &'static [&'static str], valued: &'static str, skip: usize) -> Wrapper {
    Wrapper { names, sub: &[], valued, skip, mode: Mode::Words, via: Via::Wrapper, elevated: false }
}

const fn sub(
    names: &'static [&'static str],
    sub: &'static [&'static str],
    valued: &'static str,
    skip: usize,
) -> Wrapper {
    Wrapper { sub, ..wrapper(names, valued, skip) }
}

#[allow(clippy::needless_pass_by_value)] // a constant function cannot borrow its way out of a const
const fn remote(wrapper: Wrapper) -> Wrapper {
    Wrapper { via: Via::Remote, ..wrapper }
}

#[allow(clippy::needless_pass_by_value)] // as above
const fn joined(wrapper: Wrapper) -> Wrapper {
    Wrapper { mode: Mode::Joined, ..wrapper }
}

const CONTAINER: &str = "-u --user -w --workdir -e --env --env-file --name -v --volume -p --publish --network --net --entrypoint \
    -h --hostname -m --memory --cpus --mount --platform --label -l --add-host --gpus --device --restart --shm-size --ulimit \
    --cap-add --cap-drop --security-opt --detach-keys --index --pull --log-driver --dns --ip --link --pid --ipc --tmpfs --volumes-from --userns";

/// The options of `ssh` that take a value.
pub(super) const SSH: &str = "-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w -B";

/// Programs that run what follows.
pub(super) static WRAPPERS: &[Wrapper] = &[
    Wrapper {
        elevated: true,
        ..wrapper(
            &["sudo", "doas"],
            "-u --user -g --group -h --host -p --prompt -C -D --chdir -R --chroot -T -r --role -t --type -U --other-user -c",
            0,
        )
    },
    Wrapper { elevated: true, ..wrapper(&["pkexec", "gksudo", "kdesudo"], "--user", 0) },
    Wrapper { elevated: true, ..wrapper(&["gosu", "su-exec", "setpriv"], "--reuid --regid", 1) },
    wrapper(
        &[
            "command",
            "builtin",
            "nohup",
            "setsid",
            "chronic",
            "fakeroot",
            "torsocks",
            "catchsegv",
            "noglob",
            "nocorrect",
            "coproc",
            "-",
            "winpty",
            "unbuffer",
            "spawn",
            "dbus-run-session",
            "dbus-launch",
            "systemd-cat",
            "eatmydata",
            "dumb-init",
            "tini",
            "annotate-output",
            "proot",
            "heaptrack",
        ],
        "",
        0,
    ),
    wrapper(&["exec"], "-a", 0),
    wrapper(&["time"], "-f --format -o --output", 0),
    wrapper(&["cgexec", "schroot"], "-g -c -u --user --chroot --directory -d", 0),
    wrapper(&["faketime", "envdir", "softlimit", "s6-setuidgid", "setuidgid", "chpst"], "-u -e -m -n", 1),
    sub(&["perf"], &["stat|record"], "-e -o -p -F -g -C --event --output", 0),
    wrapper(&["nice"], "-n --adjustment", 0),
    wrapper(&["ionice"], "-c --class -n --classdata -p -P -u", 0),
    wrapper(&["chrt", "taskset"], "-T -P -D", 1),
    wrapper(&["timeout", "gtimeout"], "-s --signal -k --kill-after", 1),
    wrapper(&["stdbuf"], "-i --input -o --output -e --error", 0),
    wrapper(&["chroot"], "--userspec --groups", 1),
    wrapper(&["unshare", "nsenter", "bwrap", "firejail"], "-t --target -S -G --setuid --setgid", 0),
    wrapper(&["strace", "ltrace"], "-o -e -p -s -u -E -I -O -S -a -P -b", 0),
    wrapper(&["valgrind", "catch", "perf-record"], "", 0),
    wrapper(&["xvfb-run"], "-n --server-num -s --server-args -e -f -p -w", 0),
    wrapper(&["proxychains", "proxychains4"], "-f", 0),
    wrapper(&["caffeinate"], "-t -w", 0),
    wrapper(&["arch"], "-arch", 0),
    wrapper(
        &["systemd-run"],
        "-p --property -u --unit --uid --gid -E --setenv --slice --on-active --on-calendar -t -M",
        0,
    ),
    wrapper(&["busybox", "toybox", "coreutils", "uutils", "wine", "wine64"], "", 0),
    sub(&["k3s", "k0s", "microk8s", "rke2", "minikube"], &["kubectl"], "-p --profile", 0),
    wrapper(&["npx", "bunx", "pnpx", "uvx", "dotenv", "direnv-exec"], "-p --package -c --call --from --with -e", 0),
    wrapper(
        &["setarch", "linux32", "linux64", "i386", "prlimit", "cpulimit", "numactl", "rlwrap", "ts-node-exec"],
        "",
        0,
    ),
    sub(&["npm", "pnpm", "yarn"], &["exec|dlx"], "--package", 0),
    sub(&["npm"], &["explore"], "", 1),
    sub(
        &["uv", "poetry", "pipenv", "hatch", "pdm", "rye", "doppler", "op", "infisical"],
        &["run"],
        "--with --python -p --extra --group --package -e --env-file --project --config",
        0,
    ),
    sub(
        &["bundle", "mise", "asdf", "devbox", "rbenv", "pyenv", "nodenv", "chamber", "envchain"],
        &["exec|run|x"],
        "",
        0,
    ),
    sub(&["aws-vault"], &["exec"], "-d --duration", 1),
    sub(&["conda", "mamba", "micromamba"], &["run"], "-n --name -p --prefix --cwd", 0),
    sub(&["direnv"], &["exec"], "", 1),
    sub(&["git"], &["bisect"], "", 1),
    sub(&["systemd-inhibit"], &[], "--what --who --why --mode", 0),
    joined(wrapper(&["watch"], "-n --interval -d", 0)),
    joined(wrapper(
        &["concurrently", "conc"],
        "-n --names -c --prefix-colors -p --prefix -l --prefix-length -s --success",
        0,
    )),
    joined(wrapper(
        &["hyperfine"],
        "-w --warmup -r --runs -m --min-runs -M --max-runs -n --command-name -L --parameter-list --export-json --export-markdown -S --shell",
        0,
    )),
    joined(remote(wrapper(&["ssh", "autossh", "mosh", "sshpass-ssh"], SSH, 1))),
    joined(remote(wrapper(&["plink", "plink.exe", "klink"], "-P -l -i -pw -pwfile -hostkey -L -R -D -nc -m", 1))),
    joined(remote(wrapper(
        &["pdsh", "dsh", "clush", "pssh", "parallel-ssh", "prun", "cexec", "onall", "mussh", "rsh"],
        "-w -x -g -l -u -t -f -m -h --hosts -H --host --hostfile -p --par -O -A -c -n -R -S -X -o --outdir -e --errdir --user --timeout",
        0,
    ))),
    wrapper(&["sshpass"], "-p -f -d -P", 0),
    remote(sub(&["docker", "podman", "nerdctl", "lxc", "finch"], &["exec|run|create"], CONTAINER, 1)),
    remote(sub(&["docker", "podman", "nerdctl"], &["container", "exec|run|create"], CONTAINER, 1)),
    remote(sub(&["docker", "podman", "nerdctl"], &["compose", "exec|run"], CONTAINER, 1)),
    remote(sub(&["docker-compose", "podman-compose"], &["exec|run"], CONTAINER, 1)),
    remote(sub(&["multipass", "machinectl", "incus"], &["exec|shell"], "-u --user", 1)),
    joined(remote(sub(&["adb"], &["shell"], "-s", 0))),
    joined(remote(sub(&["heroku", "dokku"], &["run|run:detached"], "-a --app -r --remote -s --size", 0))),
    remote(wrapper(&["wsl"], "-d --distribution -u --user --cd", 0)),
];

/// Names of shells whose `-c` takes text.
pub(crate) const SHELLS: &[&str] = &[
    "sh", "bash", "zsh", "dash", "ksh", "ksh93", "mksh", "ash", "fish", "rbash", "csh", "tcsh", "osh", "yash",
    "git-bash", "elvish", "xonsh", "nu",
];
