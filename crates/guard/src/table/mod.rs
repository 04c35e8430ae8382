//! The table of rules, by what the commands work on.

use super::rules::Rule;

mod cloud;
mod data;
mod git;
pub(super) mod reads;
mod system;

/// All rules.
pub(super) fn all() -> impl Iterator<Item = &'static Rule> {
    [git::RULES, system::RULES, cloud::RULES, data::RULES].into_iter().flatten()
}

#[allow(clippy::match_same_arms)] // by program
/// The options of a program that take a value; `@` where a single dash begins a whole word (`-destroy`).
pub(super) fn valued(program: &str) -> &'static str {
    match program {
        "crontab" => "-u",
        "git" => "-C -c -b --config-env --git-dir --work-tree --namespace --exec-path",
        "docker" | "podman" | "nerdctl" => "-H --host --context -c --config -l --log-level",
        "docker-compose" | "podman-compose" => {
            "-f --file -p --project-name --profile --env-file --project-directory --ansi --progress"
        }
        "kubectl" | "oc" | "k" => {
            "-n --namespace --context --cluster --kubeconfig -l --selector -f --filename --replicas --grace-period -o --output"
        }
        "helm" => "-n --namespace --kube-context --kubeconfig -f --values --set --timeout",
        "terraform" | "tofu" | "terragrunt" => "@ -chdir -var -var-file -target -state",
        "systemctl" => "-H --host -M --machine -t --type -p --property -n --lines -s --signal --state",
        "redis-cli" | "valkey-cli" => "-h -p -a -n -u -s --user --pass",
        "mosquitto_pub" => "-h -p -t -m -f -u -P -q -i",
        "npm" | "pnpm" | "yarn" => "--prefix -C --dir --cwd -w --workspace --filter",
        "aws" => {
            "--profile --region --output --endpoint-url --query --exclude --include --acl --desired-capacity --desired-count --max-size --min-size"
        }
        "gcloud" => "--project --zone --region --format --account",
        "gsutil" => "-o -h",
        "rclone" => "--config --transfers --checkers --include --exclude --filter --max-age --min-age --log-file",
        "kill" => "@ -s --signal",
        "pwsh" | "powershell" => "@",
        "killall" | "pkill" => "-s --signal -u --user -U -g -G -P -t",
        "cargo" => "--manifest-path --color -Z --config --version --vers",
        "curl" => {
            "-X --request -H --header -d --data --data-raw --data-binary --data-ascii --data-urlencode --json --form-string --key -E -u --user -o --output -A --user-agent -e -F --form -b --cookie -T --upload-file -w --write-out -m --max-time --connect-timeout --cacert --cert --key -x --proxy --url --retry --resolve -K --config"
        }
        "gh" | "glab" | "hub" => {
            "-R --repo -X --method -f --field -F --raw-field -q --jq -H --header --input -t --template"
        }
        "iptables" | "ip6tables" => "-t --table",
        "ufw" | "nft" | "zfs" => "",
        "find" | "gfind" => "@",
        "make" | "gmake" | "just" | "task" | "mage" => "-C --directory -f --file -j --jobs",
        "heroku" => "-a --app -r --remote --confirm -c",
        "fly" | "flyctl" => "-a --app -c --config",
        "vault" => "@ -address --address -namespace --namespace -mount --mount -versions",
        "consul" | "nomad" => "@ -http-addr -token -namespace",
        "etcdctl" => "--endpoints --cacert --cert --key --user",
        "mdadm" | "parted" | "sgdisk" | "mkfs" => "",
        "ip" => "@",
        "ansible" => "-m --module-name -a --args -i --inventory -l --limit -u --user -e --extra-vars",
        "virsh" => "-c --connect",
        "rails" | "rake" | "php" | "mix" | "bundle" => "-e",
        "prisma" | "sequelize" | "knex" | "typeorm" | "drizzle-kit" => "--schema --env --config",
        "restic" | "borg" | "duplicity" => {
            "-r --repo --tag --host --path -p --password-file --keep-last -l -d -w -m -y --keep-daily --keep-weekly --keep-monthly"
        }
        _ => "",
    }
}
