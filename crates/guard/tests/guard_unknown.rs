//! Programs that the guard has no record of: their words tell nothing, what they are given makes them worse, and only
//! who names them or what they work on means them.

mod guard_support;

use guard_support::{asked, asked_without_a_word, held};
use loopwright_guard::{Risk, RiskContext, RiskLevel, assess_shell};

fn risk(line: &str) -> Risk {
    assess_shell(line, &RiskContext::default())
}

/// What a program does that is not known here is not told by its words, nor by what a task or a script is called.
#[test]
fn g11_unknown_programs_are_cautious_whatever_their_words() {
    for line in [
        "anvil-dropdb shop",
        "anvil_rm -all",
        "anvilcli -CfgLdDel -L0",
        "anvilcli -purge -id 4",
        "anvilctl --removenode 4",
        "anvilctl -e 'manage truncate ns prod'",
        "anvilctl cleanup --keep 0",
        "anvilctl container force-stop db1",
        "anvilctl convert --overwrite a.pdf",
        "anvilctl disable-user bob",
        "anvilctl failed clear",
        "anvilctl index gc",
        "anvilctl key reset -f",
        "anvilctl kill shop",
        "anvilctl list remove dev",
        "anvilctl load --replace dump.bin",
        "anvilctl migrate --to v2 --down=all",
        "anvilctl migrate apply --down 3",
        "anvilctl migrate fresh",
        "anvilctl orders cancel -all",
        "anvilctl pods stop --all-inactive",
        "anvilctl scale web=0",
        "anvilctl secrets disable kv",
        "anvilctl state rollback",
        "anvilctl trashbin:cleanup --all-users",
        "anvilctl zone clear example.org",
        "appctl bootstrap --force",
        "apptool sync --prune",
        "arrayctl delpool p0",
        "boxctl eval 'box.space.users:drop()'",
        "brokerctl subscription cancel s-1",
        "bun db:drop",
        "cbq -s 'DELETE FROM travel WHERE 1=1'",
        "cli53 rrdelete example.com www A",
        "cmctl orders cancel --all --yes",
        "curl -X POST https://api.example.com/v1/projects/1/database/reset",
        "deployctl rollback --force prod",
        "echo 'volume.delete -id 3' | anvil shell",
        "elasticsearch-users userdel bob",
        "fdbcli --exec 'clearrange a b'",
        "foo-cleanup --force",
        "gclean images --older 1d --dry-run=false",
        "gitlab-rake gitlab:cleanup:orphan_lfs_files DRY_RUN=false",
        "graphtool repository clear wine",
        "iottool device factory-reset d1",
        "isi rmsnapshot s1",
        "logctl clear --all --yes",
        "mongotool dropCollection users",
        "mycli reset --hard --all",
        "mysql app -e 'source teardown.sql'",
        "nctl reconcile web --allow-destroy --yes",
        "newdb -e 'DROP STREAM orders'",
        "pijul unrecord ABC",
        "pnpm db:reset",
        "psql -c '\\i drop.sql'",
        "qtool empty orders",
        "rdfind -deleteduplicates true src",
        "sips --deleteProperty profile a.jpg",
        "some-tool data clear --prod",
        "spoolctl queue clean --no-confirm",
        "sqlite3 prod.sqlite3 '.read wipe.sql'",
        "stolonctl init -y",
        "surreal sql --command 'REMOVE TABLE person'",
        "svc service kill-all",
        "svctask rmvdisk vdisk7",
        "swarmtool nodes evict --yes-i-know",
        "symcli disband -g prod",
        "tablectl volume stop data force",
        "tool /PURGE all",
        "tool db execute --sql 'select 1; drop table a;'",
        "tool hostdelete web1",
        "unar -force-overwrite a.zip",
        "vsctl cancel instance 7",
        "npm run db:reset",
        "make clean-db",
        "psql prod < drop_all.sql",
        "mytool vaporize",
        "mytool raze",
        "mysql -uroot -p$PW -e \"$(cat reset.sql)\"",
        "tool apply --allow-delete=true",
        "npm run prisma:reset",
        "bazel clean help",
        "kubeswitch gc --hard help",
        "ansible-playbook destroy.yml",
        "git obliterate x",
    ] {
        assert_eq!(risk(line).level, RiskLevel::Cautious, "{line}: {:?}", risk(line));
        assert!(asked_without_a_word(line), "{line}");
    }
    // Nobody can tell whether a program of that name only shows something to somebody else.
    for line in [
        "sudo aa-status",
        "sudo gitlab-ctl status",
        "sudo lxc-ls --fancy",
        "sudo smartctl --info /dev/sda",
        "sudo mytool status",
    ] {
        assert!(risk(line).level >= RiskLevel::Confirm, "{line}");
    }
}

#[test]
fn g11_what_an_unknown_program_is_given_makes_it_worse() {
    held(
        &[
            "mytool ~/notes",
            "mytool --file=/etc/hosts",
            "mytool -o/etc/x",
            "mytool @/etc/hosts",
            "mytool /dev/sdb",
            "mytool https://example.com/x",
            "mytool --to git+ssh://example.com/x",
            "mytool x > ~/.bashrc",
            "mytool --pager='rm -rf ~' x",
            "mytool --log-pager 'git push --force' x",
            "mytool --rsh-program='sh -c \"rm -rf src\"' x",
            "mytool -exec 'rm -rf src'",
        ],
        &["mytool src/a", "mytool /tmp/x", "mytool http://localhost:8080/x", "mytool --file=a"],
    );
}

#[test]
fn g13_a_verb_alone_names_no_unknown_program() {
    for (task, line) in [
        ("Commit what is there.", "mytool commit"),
        ("Delete the old index.", "mytool delete index"),
        ("Run the migration and reset it", "mytool reset"),
        ("Build it and run the tests", "mytool build"),
        ("vaporize it", "mytool vaporize"),
    ] {
        assert!(asked(task, line), "{task} {line}");
    }
    for (task, line) in [
        ("Use mytool for that.", "mytool reset"),
        ("Please reset state/db.json", "mytool reset state/db.json"),
        ("Commit what is there.", "git commit -m x"),
    ] {
        assert!(!asked(task, line), "{task} {line}");
    }
}
