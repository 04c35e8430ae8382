//! Ways by which a line that looks like reading runs something or shows what is kept: blocks of PowerShell, arrays and
//! variables of a shell, searches and comparisons of whole folders, and other programs that hold the same.

use loopwright_guard::{RiskContext, RiskLevel, assess_shell};

fn held(careful: &[&str], safe: &[&str]) {
    let mut wrong = Vec::new();
    for (lines, is_safe) in [(careful, false), (safe, true)] {
        for line in lines {
            let found = assess_shell(line, &RiskContext::default());
            if (found.level == RiskLevel::Safe) != is_safe {
                wrong.push(format!("{line}: {} {}", found.level.name(), found.rule));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn g2_a_dot_of_powershell_runs_what_stands_behind_it() {
    held(
        &[
            "Measure-Command {.'x.ps1'}",
            "Measure-Command { . 'x.ps1' }",
            "Get-ChildItem | Where-Object {.'x.ps1'}",
            "Get-ChildItem | ?{.\"x.ps1\"}",
            "Get-ChildItem | Sort-Object {.$x}",
            "Get-ChildItem | Sort-Object { .(Get-Command rm) a }",
            "Get-ChildItem | Sort-Object { .{ rm a } }",
            "Get-ChildItem | Select-Object @{n='a';e={.'x.ps1'}}",
            "Get-Process | Format-Table @{e={.'x.ps1'}}",
            "Get-ChildItem | Where-Object { 1 -and .'x.ps1' }",
            "Write-Output (.'x.ps1')",
            "Get-Date -Format $(.'x.ps1')",
        ],
        &[
            "Measure-Command { Get-ChildItem }",
            "Get-ChildItem | Sort-Object { $_.Length }",
            "Get-ChildItem | Where-Object { $_.Length -gt .5 }",
            "Get-ChildItem | Where-Object { -not $_.PSIsContainer }",
            "$PSVersionTable.PSVersion.Major; @(1..5)",
        ],
    );
}

#[test]
fn g6_a_variable_that_stands_alone_in_powershell_is_printed() {
    held(
        &[
            "$env:API_KEY",
            "$ENV:API_KEY",
            "\"$env:API_KEY\"; Get-ChildItem",
            "'a' + $env:API_KEY",
            "$env:API_KEY | Out-String",
            "($env:GITHUB_TOKEN)",
            "Get-ChildItem | ForEach-Object { $env:API_KEY }",
        ],
        &["$env:PATH", "$env:PATH -split ';'", "$env:USERNAME", "$x = $env:API_KEY", "if ($env:CI) { Get-ChildItem }"],
    );
}

#[test]
fn g6_comparisons_of_whole_folders_show_all_that_differs() {
    held(
        &[
            "diff -r ~ /srv",
            "diff -ru . ../other",
            "diff --recursive src /home/bob",
            "diff -r . ~/backup",
            "colordiff -r /etc /mnt/etc",
            "git diff --no-index ~ /srv",
            "git -C sub diff --no-index . ~/x",
        ],
        &[
            "diff -r src old",
            "diff -u a.txt b.txt",
            "diff -rq ~ /srv",
            "diff -r /tmp/a /tmp/b",
            "git diff --no-index a b",
            "git diff --stat",
        ],
    );
}

#[test]
fn g6_searches_that_are_told_to_look_into_private_files_are_asked_about() {
    held(
        &[
            "git grep --no-index KEY",
            "git grep --no-index -i password .",
            "git grep --no-index x ~",
            "rg -g .env KEY",
            "rg --glob='.e*' KEY",
            "rg --iglob .ENV .",
            "rg -g'*.pem' .",
            "grep -r --include='*.pem' . .",
            "ag -G '\\.env' .",
            "rg --files --hidden -g .env | xargs cat",
            "rg --files -g '*.pem' | xargs head",
            "rg --files --hidden -g '!.git' | xargs cat",
            "cat $(rg --files --hidden -g '.e*')",
        ],
        &[
            "git grep TODO",
            "git grep --no-index TODO src",
            "git grep --no-index -l KEY",
            "git grep --no-index --exclude-standard KEY",
            "rg --files --hidden -g .env",
            "rg -g '*.py' KEY",
            "rg -g '!*.pem' TODO",
            "rg --files -g '*.py' | xargs cat",
            "grep -r --include='*.py' KEY .",
        ],
    );
}

#[test]
fn g2_elements_of_an_array_are_what_they_stand_for() {
    held(
        &[
            "a=(x y); ${a[0]}",
            "a=(rm -rf x); ${a[0]} ${a[1]} ${a[2]}",
            "a=(.env b); cat ${a[0]}",
            "a=(a ~/.ssh/id_rsa); cat \"${a[1]}\"",
            "a=(a ~/.ssh/id_rsa b); cat \"${a[@]:1:1}\"",
            "a=(b ~/.ssh/id_rsa); cat \"${a[@]:1}\"",
            "f=(.e*); cat \"${f[@]}\"",
            "f=(.e*); cat ${f[0]}",
            "a=(-delete); find . \"${a[0]}\"",
            "a=(-o out); sort ${a[0]} ${a[1]} in",
        ],
        &[
            "a=(a.txt b.txt); cat \"${a[0]}\"",
            "a=(a.txt b.txt c.txt); cat \"${a[@]:1:2}\"",
            "a=(ls -l); \"${a[@]}\"",
            "a=(a b); for x in \"${a[@]}\"; do echo $x; done",
            "f=(*.md); wc -l \"${f[@]}\"",
        ],
    );
}

#[test]
fn g2_variables_by_which_a_shell_goes_are_set_for_all_that_follows() {
    held(
        &[
            "GLOBIGNORE=x; cat *",
            "GLOBIGNORE+=:x; cat *",
            "EXECIGNORE='/bin/*'; ls",
            "PS1='$(sh x.sh)'",
            "PS0='$(sh x.sh)'; ls",
            "MAILPATH='x?$(sh x.sh)'; ls",
            "INPUTRC=x; ls",
            "HISTFILE=~/.bashrc",
            "NULLCMD=sh; < x.sh",
            "read -r GLOBIGNORE < a; cat *",
            "printf -v GLOBIGNORE x; cat *",
            ": ${GLOBIGNORE:=x}; cat *",
        ],
        &["IFS=, read -r a b", "LC_ALL=C ls", "x=1; echo $x", "TIMEFORMAT=%R; ls"],
    );
}

#[test]
fn g6_what_clusters_states_and_units_hold_is_asked_about() {
    held(
        &[
            "kubectl get secret -o yaml",
            "kubectl get pods -o yaml",
            "kubectl -n x get pod a -ojson",
            "kubectl get -o=yaml deploy/web",
            "kubectl get cm app --output yaml | head",
            "kubectl get pods -o jsonpath='{..env}'",
            "kubectl get cm -o jsonpath='{.items[*].data}'",
            "oc get all -o json",
            "kubectl get certificates.cert-manager.io -o yaml",
            "terraform show",
            "terraform -chdir=infra show -no-color",
            "tofu show plan.out",
            "systemctl cat app",
            "systemctl --user cat app.service",
            "cat .git/config",
            "head -5 vendor/lib/.git/config",
            "cat ~/.gitconfig",
            "cat ~/.config/git/config",
        ],
        &[
            "kubectl get secret",
            "kubectl get pods -o wide",
            "kubectl get pods -o name",
            "kubectl get pods -o jsonpath='{.items[*].metadata.name}'",
            "kubectl get pods -o custom-columns=NAME:.metadata.name",
            "kubectl get svc,nodes -o yaml",
            "terraform state list",
            "terraform output",
            "systemctl status app",
            "cat .gitmodules",
            "git config --get remote.origin.url",
            "git config user.name",
        ],
    );
}
