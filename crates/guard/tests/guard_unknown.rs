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

/// Who asks whether the tests pass wants them run; what changes files on the way, or does something else, is no answer.
#[test]
fn g13_questions_about_tests_and_types_have_the_checks_run() {
    for (task, line) in [
        ("Are the tests green?", "cargo nextest run --workspace 2>&1 | tail -30"),
        ("Which lines aren't covered by tests?", "python -m pytest --cov=app tests/"),
        ("Does it type-check?", "npx tsc --noEmit"),
        ("Check the types.", "yarn tsc --noEmit"),
        ("Lint the Go code.", "golangci-lint run"),
        ("How does build01 do?", "ssh deploy@build01 'uptime; df -h /var'"),
    ] {
        assert!(!asked(task, line), "{task} {line}");
    }
    for (task, line) in [
        ("Are the tests green?", "pytest --snapshot-update"),
        ("Are the tests green?", "ruff check --fix src"),
        ("Are the tests green?", "npm run deploy"),
        ("Which tests are there?", "git checkout tests"),
        ("How does build01 do?", "ssh deploy@build01 reboot"),
        ("Don't run the tests.", "pytest"),
    ] {
        assert!(asked(task, line), "{task} {line}");
    }
}

/// Code that is taken from an address is asked about, even from a program that was named.
#[test]
fn g13_code_from_an_address_is_asked_about() {
    for line in [
        "pip install git+https://github.com/a/b",
        "pip install 'kit @ git+https://github.com/a/b'",
        "pip install --extra-index-url=https://pypi.a.example/simple kit",
        "uvx --from git+https://github.com/a/b kit",
        "npx --yes github:a/b",
        "npm install https://a.example/b.tgz",
        "cargo install --git https://a.example/b",
    ] {
        assert!(asked("Install it with pip, uvx, npx, npm and cargo.", line), "{line}");
    }
    assert!(!asked("Install it with pip.", "pip install --index-url http://localhost:3141/simple kit"));
}

/// A statement is known to read by all of its words.
#[test]
fn g1_statements_read_by_all_of_their_words() {
    for statement in [
        "select status, count(*) from orders where total > 10 group by status",
        "SELECT o.id, c.name FROM orders o JOIN customers c ON c.id = o.customer_id LIMIT 5;",
        "explain select * from orders; select max(id) from orders",
        "show tables",
    ] {
        assert_eq!(risk(&format!("psql shop -c '{statement}'")).level, RiskLevel::Safe, "{statement}");
    }
    for statement in [
        "select * from orders",
        "select o.* from orders o",
        "explain analyze delete from orders where id = 1",
        "select lo_unlink(4)",
        "select \"lo_unlink\"(4)",
        "select a.count(4)",
        "select id into other from orders",
        "select id from orders for update",
        "select api_token from customers",
        "select rolname from pg_authid",
        "select 1; vacuum",
        "select 1 \\! id",
        "\\d orders | id",
        "\\lo_unlink 4",
        "copy orders to program \"id\"",
        "",
    ] {
        assert!(risk(&format!("psql shop -c '{statement}'")).level > RiskLevel::Safe, "{statement}");
    }
}
