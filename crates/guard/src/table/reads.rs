//! The options with which programs are known to do nothing but read, a line each. An option that stands in no line of
//! its program is not known, and a call with it is no reading.
//!
//! The left side is the program and its subcommands, the right side what may follow. `-ab` are letters, `--long` a
//! name; `:` or `=` behind one takes a value, `?` one that is joined to it or left out. Behind that, `>` is a file
//! that is written, `!` a program that is run. `-#` is a number for an option (`-20`), `*` anything at all, a digit
//! the most operands that are read (`1>`: one more is written), `+` options that end at the first operand, `/` a
//! program with subcommands, `&` one that runs what follows, `@` options of one dash that are whole words, `=+`
//! operands that begin with `+` alone, `!+` no word or value that does, `!*:` none that holds it, `$word` the last
//! operand, `^-a|--b` an option of which one must be given, `~` a first word of letters without a dash, `%name` the
//! options of another line.

use std::sync::LazyLock;

use crate::names;

pub(crate) type Line = (&'static str, &'static str);

/// All lines: those of this table, and those that stand with the names of `guard.toml`, where a `=` parts the sides.
pub(crate) fn all() -> impl Iterator<Item = Line> {
    static NAMED: LazyLock<Vec<Line>> = LazyLock::new(|| {
        let mut lines: Vec<Line> =
            names::list("programs.read").iter().filter_map(|line| line.split_once(" = ")).collect();
        lines.sort_unstable();
        lines
    });
    LINES.iter().copied().chain(NAMED.iter().copied())
}

#[rustfmt::skip] // a table
const LINES: &[Line] = &[
    // Of the shell, and what only prints its words.
    ("echo|printf|true|false|:|test|[|[[|expr|basename|dirname|sleep|seq|cd|pushd|popd|dirs|jobs|break|\
        continue|return", "*"),
    ("wait", "-fn"),
    // Whatever it writes to is judged as that.
    ("tee", "-aip --append --ignore-interrupts"),
    ("read", "!*[ -ersd:n:N:p:t:u:i:a:"),
    ("set", "=+ ^-e|-u|-x|-f|-v|-o|-C|-E|-T -euxfvCETo:@"),
    ("set", "=+ $+e|+u|+x|+f|+v"),
    ("shopt", "/ -su"),
    ("shopt nullglob|globstar|dotglob|extglob|failglob|nocaseglob|nocasematch|inherit_errexit|lastpipe", "0"),
    ("exit|shift|unset|type|which|pwd|whoami|groups|users|tty|arch|nproc|logname|yes|factor|getconf|locale|\
        apropos|whatis|whereis|cowsay|figlet|fortune", "*"),
    ("command", "+ ^-v|-V -pvV"),
    ("command|builtin", "& + -p"),
    ("printenv", "-0 --null"),
    // Programs that run what they are given, which is judged by itself.
    ("env", "& + -iu:C:v0 --ignore-environment --unset= --chdir= --null --debug"),
    ("timeout|gtimeout", "& + -s:k:vfp --signal= --kill-after= --preserve-status --foreground --verbose"),
    ("nice", "& + -n: -# --adjustment="),
    ("ionice", "& + -c:n:t --class= --classdata= --ignore"),
    ("stdbuf", "& + -i:o:e: --input= --output= --error="),
    ("time", "& + -pv --portability --verbose"),
    ("xargs|gxargs", "& + -0rtxn:L:P:I:s:d:E:a: --null --no-run-if-empty --verbose --exit --max-args= \
        --max-lines= --max-procs= --replace? --max-chars= --delimiter= --arg-file="),
    ("bash|sh|zsh|dash|ksh", "& + -celux"),
    // Text.
    ("cat|zcat|bzcat|xzcat|gzcat|zstdcat", "-AbeEnstTuv --show-all --number-nonblank --show-ends --number \
        --squeeze-blank --show-tabs --show-nonprinting"),
    ("tac", "-brs: --before --regex --separator="),
    ("rev", ""),
    ("nl", "-b:d:f:h:i:l:n:ps:v:w: --body-numbering= --section-delimiter= --footer-numbering= --header-numbering= \
        --line-increment= --join-blank-lines= --number-format= --no-renumber --number-separator= \
        --starting-line-number= --number-width="),
    ("head", "-qvzn:c: -# --lines= --bytes= --quiet --silent --verbose --zero-terminated"),
    ("tail", "-fFqvzrn:c:s:b: -# --lines= --bytes= --follow? --pid= --quiet --silent --retry --sleep-interval= \
        --verbose --zero-terminated --max-unchanged-stats="),
    ("wc", "-clmwL --bytes --chars --lines --words --max-line-length --files0-from= --total="),
    ("cut", "-b:c:d:f:nszw --bytes= --characters= --delimiter= --fields= --complement --only-delimited \
        --output-delimiter= --zero-terminated"),
    ("tr", "-cCdstu --complement --delete --squeeze-repeats --truncate-set1"),
    ("paste", "-d:sz --delimiters= --serial --zero-terminated"),
    ("join", "-a:e:ij:1:2:o:t:v:z --ignore-case --check-order --nocheck-order --header --zero-terminated"),
    ("comm", "-123iz --check-order --nocheck-order --output-delimiter= --total --zero-terminated"),
    ("fold", "-bsw: -# --bytes --spaces --width="),
    ("fmt", "-cp:st:uw:g: -# --crown-margin --prefix= --split-only --tagged-paragraph --uniform-spacing --width= \
        --goal="),
    ("expand|unexpand", "-ait: -# --all --initial --tabs= --first-only"),
    ("column", "-c:txs:o:n:N:eR:H:O:T:E:L:dJr:p:i: --columns= --table --fillrows --separator= --output-separator= \
        --table-columns= --json --keep-empty-lines"),
    ("look", "-abdft: --alphanum --dictionary --ignore-case --terminate="),
    ("uniq|guniq", "1> -cdDiuzf:s:w: -# --count --repeated --all-repeated? --group? --skip-fields= --ignore-case \
        --skip-chars= --unique --zero-terminated --check-chars="),
    ("sort|gsort", "-bdfghiMnrRVcCmsuzk:t:S:T: -o:> --ignore-leading-blanks --dictionary-order --ignore-case \
        --general-numeric-sort --ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort \
        --random-sort --random-source= --reverse --sort= --version-sort --batch-size= --check? --debug \
        --files0-from= --key= --merge --stable --buffer-size= --field-separator= --temporary-directory= \
        --parallel= --unique --zero-terminated --compress-program=! --output=>"),
    ("grep|egrep|fgrep|zgrep|zegrep|zfgrep|ggrep|pcregrep|bzgrep|xzgrep", " \
        -EFGPe:f:iywxzcLlm:oqsbHhnTZA:B:C:aID:d:rRUuvV -# --extended-regexp --fixed-strings --basic-regexp \
        --perl-regexp --regexp= --file= --ignore-case --no-ignore-case --word-regexp --line-regexp --null-data \
        --count --color? --colour? --files-without-match --files-with-matches --max-count= --only-matching \
        --quiet --silent --no-messages --byte-offset --with-filename --no-filename --label= --line-number \
        --initial-tab --null --after-context= --before-context= --context= --text --binary-files= --devices= \
        --directories= --exclude= --exclude-from= --exclude-dir= --include= --include-dir= --recursive \
        --dereference-recursive --line-buffered --binary --invert-match --group-separator= --no-group-separator"),
    ("rg", "-0.aA:bB:cC:d:e:E:f:Fg:hHiIj:lLm:M:nNopPqr:sSt:T:uUvVwxz --regexp= --file= --after-context= \
        --before-context= --context= --auto-hybrid-regex --binary --block-buffered --byte-offset --case-sensitive \
        --color= --colors= --column --context-separator= --count --count-matches --crlf --debug --dfa-size-limit= \
        --encoding= --engine= --field-context-separator= --field-match-separator= --files --files-with-matches \
        --files-without-match --fixed-strings --follow --glob= --glob-case-insensitive --heading --hidden \
        --iglob= --ignore --ignore-case --ignore-file= --ignore-file-case-insensitive --include-zero \
        --invert-match --json --line-buffered --line-number --line-regexp --max-columns= --max-columns-preview \
        --max-count= --max-depth= --max-filesize= --messages --mmap --multiline --multiline-dotall --no-config \
        --no-filename --no-heading --no-ignore --no-ignore-dot --no-ignore-exclude --no-ignore-files \
        --no-ignore-global --no-ignore-messages --no-ignore-parent --no-ignore-vcs --no-line-number --no-messages \
        --no-unicode --null --null-data --one-file-system --only-matching --passthru --path-separator= --pcre2 \
        --pretty --quiet --regex-size-limit= --replace= --search-zip --smart-case --sort= --sortr= --sort-files \
        --stats --stop-on-nonmatch --text --threads= --trace --trim --type= --type-add= --type-clear= --type-list \
        --type-not= --unicode --unrestricted --vimgrep --with-filename --word-regexp --pre-glob= \
        --hyperlink-format= --pre=! --hostname-bin=!"),
    ("ag", "-0aA:B:cC:fg:G:HhilLm:noqQp:rRsStuUvwz --after? --before? --breaks --count --color --column \
        --filename --heading --line-numbers --context? --ackmate --print-long-lines --all-types --depth= --follow \
        --file-search-regex= --hidden --ignore= --ignore-dir= --ignore-case --files-with-matches \
        --files-without-matches --literal --max-count= --numbers --nocolor --nogroup --group --nonumbers \
        --only-matching --path-to-ignore= --silent --smart-case --case-sensitive --stats --search-binary \
        --unrestricted --invert-match --vimgrep --word-regexp --search-zip --pager=!"),
    ("ack", "-A:B:cC:fg:hHilLm:noPQrRsSvwx --after-context= --before-context= --context= --count --color \
        --nocolor --colour --column --files-with-matches --files-without-matches --follow --group --nogroup \
        --heading --noheading --break --nobreak --ignore-case --ignore-dir= --ignore-file= --invert-match \
        --literal --match= --max-count= --no-filename --with-filename --only-matching --passthru --smart-case \
        --type= --word-regexp --sort-files --pager=!"),
    ("diff|colordiff", "-abBcC:dD:eEF:iI:lL:nNpqrsS:tTuU:vwW:x:X:yZ -# --normal --brief --report-identical-files \
        --context? --unified? --ed --rcs --side-by-side --width= --left-column --suppress-common-lines \
        --show-c-function --show-function-line= --label= --expand-tabs --initial-tab --tabsize= --recursive \
        --no-dereference --new-file --unidirectional-new-file --ignore-file-name-case --exclude= --exclude-from= \
        --starting-file= --from-file= --to-file= --ignore-case --ignore-tab-expansion --ignore-trailing-space \
        --ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-matching-lines= --text \
        --strip-trailing-cr --ifdef= --minimal --speed-large-files --color? --palette="),
    ("cmp", "-bi:ln:s --print-bytes --ignore-initial= --verbose --bytes= --quiet --silent"),
    ("md5sum|sha1sum|sha224sum|sha256sum|sha384sum|sha512sum|shasum|cksum|b2sum|sum|md5",
     "-abcstwzra:l:q --binary --check --tag --text --zero --ignore-missing --quiet --status --strict --warn \
      --length= --algorithm= --raw --untagged"),
    ("base64|base32|basenc", "-dDiw:b: --decode --ignore-garbage --wrap= --base64 --base32 --base16"),
    ("od|hexdump|hd|strings", "-aAbBcCdDeE:f:hHiIjJln:N:opPqRsSt:T:uvwxzX -# --all --bytes= --radix= --format= \
        --encoding= --address-radix= --skip-bytes= --read-bytes= --width? --output-duplicates --canonical \
        --length= --skip= --print-file-name"),
    ("xxd", "1> -abc:CeEg:hil:o:pPRrs:uv -# -autoskip -bits -cols"),
    ("jq", "-ncrRsSejMCa --null-input --compact-output --raw-output --raw-output0 --join-output --raw-input \
        --slurp --sort-keys --exit-status --monochrome-output --color-output --ascii-output --tab --indent= \
        --stream --seq --unbuffered --arg= --argjson= --slurpfile= --rawfile= --args --jsonargs"),
    ("less|more", "!+ -eEfFgGiImMnNqQrRsSuUwWXx:p:y:z:j:h: -# --quit-if-one-screen --RAW-CONTROL-CHARS \
        --raw-control-chars --no-init --chop-long-lines --LINE-NUMBERS --line-numbers --ignore-case --IGNORE-CASE \
        --squeeze-blank-lines --tabs= --pattern= --quit-at-eof --log-file=> --LOG-FILE=> -o:> -O:>"),
    ("bat|batcat", "-AfhnpPstuLr:l:m:H: --plain --show-all --language= --highlight-line= --file-name= --diff \
        --tabs= --wrap= --number --color= --italic-text= --decorations= --force-colorization --paging= \
        --map-syntax= --theme= --list-themes --style= --line-range= --list-languages --unbuffered --pager=!"),
    ("man", "-aDdfkKwWs:S:M:L:m:e:iI7u -P:! -H?! --all --apropos --whatis --where --path --location --sections= \
        --manpath= --locale= --systems= --extension= --ignore-case --match-case --regex --wildcard --names-only \
        --global-apropos --no-subpages --ascii --encoding= --pager=! --html?!"),
    ("tldr|cheat|info", ""),
    ("help", "-dms"),
    ("bc", "-lqsw --mathlib --quiet --standard --warn"),
    ("cal|ncal", "-1 -3 -jmsywhNA:B: --one --three --monday --sunday --julian --year"),
    // Files and the machine.
    ("ls|dir|vdir", "-aAbBcCdDfFgGhHiI:klLmnNopqQrRsStT:uUvw:xXZ1O --all --almost-all --author --escape \
        --block-size= --ignore-backups --color? --directory --dired --classify? --file-type --format= --full-time \
        --group-directories-first --no-group --human-readable --si --dereference --dereference-command-line \
        --hide= --hyperlink? --indicator-style= --inode --ignore= --kibibytes --numeric-uid-gid --literal \
        --hide-control-chars --show-control-chars --quote-name --quoting-style= --reverse --recursive --size \
        --sort= --time= --time-style= --tabsize= --width= --context --zero"),
    ("exa|eza", "-1alGxRTFdDfrhI:L:gHiBbmnSUuXZt:s: --all --long --oneline --grid --across --recurse --tree \
        --level= --classify? --color= --colour= --icons? --git --header --group --sort= --reverse --ignore-glob= \
        --git-ignore --group-directories-first --only-dirs --only-files --time= --time-style= --no-permissions \
        --no-filesize --no-user --no-time --inode --links --blocks --binary --bytes --modified --accessed \
        --created --extended --octal-permissions --numeric"),
    ("tree", "-adfilxqNQpugshDFvtcUrXJSnCAL:P:I:H:T: -o:> --noreport --charset= --filelimit= --gitignore \
        --matchdirs --metafirst --prune --timefmt= --inodes --device --dirsfirst --filesfirst --sort= --du --si \
        --ignore-case --fromfile --info --hintro= --houtro= --noreport"),
    ("stat", "-LfxnrsqtFc: --dereference --file-system --format= --printf= --terse --cached="),
    ("file", "-bcdeEF:f:hiIklLnNprsSvzZ0P: --brief --checking-printout --exclude= --separator= --files-from= \
        --mime --mime-type --mime-encoding --keep-going --dereference --no-dereference --no-buffer --no-pad \
        --preserve-date --raw --special-files --uncompress --print0 --extension"),
    ("du", "-0aAB:bcDd:hHklLmPSsxX:t:I: --all --apparent-size --block-size= --bytes --total --dereference-args \
        --max-depth= --files0-from= --human-readable --inodes --si --dereference --no-dereference --separate-dirs \
        --summarize --threshold= --time? --time-style= --exclude-from= --exclude= --one-file-system --null"),
    ("df", "-aB:hHiklmPTt:x: --all --block-size= --human-readable --si --inodes --local --no-sync --sync \
        --output? --portability --type= --print-type --exclude-type= --total"),
    ("realpath|readlink", "-emLPqszfnv --canonicalize --canonicalize-existing --canonicalize-missing --logical \
        --physical --quiet --relative-to= --relative-base= --strip --no-symlinks --zero --no-newline --silent \
        --verbose"),
    ("locate|plocate|mlocate", "-0AbcdeEHiLl:mNn:pPqrsSwd: --all --basename --count --database= --existing \
        --ignore-case --limit= --null --quiet --regexp= --regex --statistics --wholename"),
    ("date", "=+ -d:f:I?Rr:u --date= --debug --file= --iso-8601? --rfc-email --rfc-2822 --rfc-3339= --reference= \
        --utc --universal"),
    ("hostname", "0 -aAdfiIsy --alias --all-fqdns --all-ip-addresses --domain --fqdn --long --ip-address --short \
        --yp --nis"),
    ("uname", "-asnrvmpio --all --kernel-name --nodename --kernel-release --kernel-version --machine --processor \
        --hardware-platform --operating-system"),
    ("id", "-agGnruzZ --group --groups --name --real --user --zero --context"),
    ("who|w|last|lastb|uptime|lslogins", "-abdHlmpqrstTuwfhioxFRpsn: -# --all --boot --count --heading --users \
        --pretty --since --short --no-header"),
    ("ps|pstree", "*"),
    ("free", "-bkmghlLtvwc:s: --bytes --kibi --mebi --gibi --tebi --human --lohi --total --wide --si --count= \
        --seconds="),
    ("top|htop|slabtop|iotop|nethogs|iftop", "-bcHiSn:d:p:u:o:Ptav -# --batch --delay= --pid= --user="),
    ("vmstat|iostat|mpstat", "-adfimnswthxzkcpNtS: -# --active --stats --slabs --wide --timestamp --unit="),
    ("pgrep|pidof", "-aAcd:fg:G:iln:oP:qs:t:u:U:vwxr: --list-name --list-full --count --full --newest --oldest \
        --exact --ignore-case --parent= --user= --euid= --uid="),
    ("lsof", "-abhlnNoOPRtUVX+c:d:F?g?i?p:s?u:"),
    ("lsblk|lscpu|findmnt|lsmod|lsusb|lspci|blkid|lvs|vgs|pvs", "-abcdDeE:fhiIJklLmMnNo:OpPQqrRsStTuUvVwx:yzA \
        --all --bytes --json --list --output= --output-all --fs --paths --pairs --raw --noheadings --nodeps \
        --perms --tree? --extended? --parse?"),
    ("netstat|ss", "-0aAbBdeEfFgGhiIlLmnNoOpPrRsStTuUvVwWxZ46 --all --listening --numeric --tcp --udp --processes \
        --program --route --statistics --summary --unix --extended --interfaces --resolve --ipv4 --ipv6 --options \
        --memory --info --no-header"),
    ("ping|ping6", "-46AaBbc:dDi:I:Lnl:OqQ:rRs:S:t:T:UvVw:W: -#"),
    ("dig|nslookup|host|whois|traceroute", "-46aAbcdilnqrstTvVwx:p:t:c:h:N:R:W:m: -# -query -type"),
    ("dmesg", "-dehHJkLPprStTuwWxf:l: --color? --ctime --decode --facility= --follow --follow-new --human \
        --json --kernel --level= --nopager --notime --raw --since= --until= --time-format= --userspace --reltime \
        --show-delta"),
    ("getent", "-is: --no-idn --service="),
    ("journalctl", "-abeEfg:hk:lMmN:n:o:p:qrS:t:U:u:xDk --all --boot? --catalog --cursor= --disk-usage --dmesg \
        --field= --fields --follow --full --grep= --identifier= --lines? --list-boots --no-full --no-hostname \
        --no-pager --no-tail --output= --output-fields= --pager-end --priority= --quiet --reverse --since= \
        --system --this-boot --unit= --until= --user --user-unit= --utc"),
    ("ip", "@ / -4 -6 -br -brief -c -color? -o -oneline -j -json -p -pretty -d -details -s -stats -statistics -h \
        -human -iec -r -resolve -f= -family= -N -Numeric -t -timestamp"),
    ("ip address|addr|a|link|l|route|r|neighbour|neighbor|neigh|n|rule|maddress|netns|tunnel", "0"),
    ("ip address|addr|a|link|l|route|r|neighbour|neighbor|neigh|n|rule|maddress|netns|tunnel show|list|ls", ""),
    ("ip route|r get", ""),
    ("systemctl", "/ -aln:o:p:qt:M: --all --full --lines= --no-legend --no-pager --output= --property= --quiet \
        --state= --type= --user --system --failed --plain --show-types --value"),
    ("systemctl status|list-units|is-active|is-enabled|is-failed|show|cat|list-unit-files|\
        list-timers|list-sockets|list-jobs|list-dependencies|get-default",
     "%systemctl"),
    ("service", "2 $status"),
    ("crontab", "0 ^-l -lu:"),
    ("fdisk|parted", "^-l|--list -l --list"),
    ("iptables|ip6tables", "^-L|-S|--list|--list-rules -LSnvxt:w --list --list-rules --numeric --verbose --exact \
        --line-numbers --table="),
    ("iptables-save|ip6tables-save|atq|sensors|aa-unconfined|sestatus|repquota|iw", ""),
    ("ufw", "/"), ("ufw status", ""), ("ufw status verbose|numbered", ""),
    ("find|gfind|bfs", "@ -H -L -P -O1 -O2 -O3 -E -X -x -s -d -f= -D= -name= -iname= -path= -ipath= -wholename= \
        -iwholename= -lname= -ilname= -regex= -iregex= -regextype= -type= -xtype= -size= -mtime= -atime= -ctime= \
        -mmin= -amin= -cmin= -newer= -anewer= -cnewer= -newermt= -newerct= -neweram= -newermm= -newerat= -user= \
        -group= -uid= -gid= -perm= -links= -inum= -samefile= -maxdepth= -mindepth= -fstype= -used= -context= \
        -printf= -files0-from= -print -print0 -ls -prune -quit -o -or -a -and -not -empty -readable -writable \
        -executable -nouser -nogroup -true -false -daystart -depth -follow -mount -xdev -noleaf -warn -nowarn \
        -ignore_readdir_race -noignore_readdir_race -fprint=> -fprint0=> -fls=> -fprintf=>"),
    ("fd|fdfind|fd-find", "-0aFgHiIluLprsS:t:d:e:E:c:j:q1 --absolute-path --base-directory= --case-sensitive \
        --changed-within= --changed-before= --newer= --older= --color= --exact-depth= --exclude= --extension= \
        --fixed-strings --follow --full-path --glob --hidden --ignore-case --ignore-file= --list-details \
        --max-depth= --min-depth= --max-results= --no-follow --no-ignore --no-ignore-vcs --no-ignore-parent \
        --one-file-system --owner= --path-separator= --print0 --prune --quiet --regex --relative-path \
        --search-path= --show-errors --size= --strip-cwd-prefix --threads= --type= --unrestricted --format="),
    ("sed|gsed", "-nErsuzbl: -e: --quiet --silent --expression= --regexp-extended --separate --unbuffered \
        --null-data --zero-terminated --line-length= --posix --sandbox --debug --binary"),
    ("awk|gawk|mawk|nawk", "+ -F:v:bcCPrSt --field-separator= --assign= --characters-as-bytes --posix \
        --traditional --re-interval --sandbox"),
    ("tar|gtar|bsdtar", "~ !*: ^-t|--list -tvzjJaf:C: --list --verbose --file= --gzip --gunzip --bzip2 --xz --zstd \
        --auto-compress --directory= --exclude= --wildcards --no-wildcards --strip-components= --numeric-owner --utc \
        --full-time"),
    ("unzip", "^-l|-v|-t -lvtqqz"),
    ("zipinfo", "-12smlvhtTzM"),
    // Git.
    ("git", "/ + -C:Pp -c:@ --no-pager --paginate --no-optional-locks --literal-pathspecs --glob-pathspecs \
        --noglob-pathspecs --icase-pathspecs --no-replace-objects --no-lazy-fetch --no-advice"),
    ("git-diff", "-abcDM?C?B?l:O:G:pqrRsS:tuU:vwWX?z -# --abbrev? --abbrev-commit --binary --break-rewrites? --cc \
        --check --color? --color-words? --color-moved? --color-moved-ws= --combined-all-paths --compact-summary \
        --cumulative --diff-algorithm= --diff-filter= --diff-merges= --dirstat? --dd --dst-prefix= --exit-code \
        --find-copies? --find-copies-harder --find-object= --find-renames? --follow --full-index \
        --function-context --histogram --indent-heuristic --ignore-all-space --ignore-blank-lines \
        --ignore-cr-at-eol --ignore-matching-lines= --ignore-space-at-eol --ignore-space-change \
        --ignore-submodules? --inter-hunk-context= --irreversible-delete --ita-invisible-in-index --line-prefix= \
        --minimal --name-only --name-status --numstat --no-prefix --no-renames --no-color --no-ext-diff \
        --no-textconv --no-patch --no-indent-heuristic --patch --patch-with-raw --patch-with-stat --patience \
        --pickaxe-all --pickaxe-regex --quiet --raw --relative? --rotate-to= --shortstat --skip-to= --src-prefix= \
        --default-prefix --stat? --stat-width= --stat-count= --stat-graph-width= --submodule? --summary --text \
        --unified= --word-diff? --word-diff-regex= --ws-error-highlight= --anchored= --output=>"),
    ("git-revisions", "-EFgin:L:ghP --all --ancestry-path? --author= --author-date-order --bisect --boundary \
        --branches? --cherry --cherry-mark --cherry-pick --children --clear-decorations --committer= --count \
        --date= --date-order --decorate? --decorate-refs= --decorate-refs-exclude= --dense --do-walk --encoding= \
        --exclude= --exclude-first-parent-only --extended-regexp --first-parent --fixed-strings --format= \
        --full-diff --full-history --glob= --graph --grep= --grep-reflog= --invert-grep --left-only --left-right \
        --log-size --mailmap --max-count= --max-parents= --merge --merges --min-parents= --no-abbrev-commit \
        --no-decorate --no-graph --no-mailmap --no-max-parents --no-merges --no-min-parents --no-notes --no-walk \
        --not --notes? --objects --oneline --parents --perl-regexp --pretty? --reflog --relative-date --remotes? \
        --remove-empty --reverse --right-only --show-linear-break? --show-notes? --show-pulls --show-signature \
        --simplify-by-decoration --simplify-merges --since= --after= --until= --before= --since-as-filter= \
        --single-worktree --skip= --source --sparse --stdin --tags? --timestamp --topo-order --use-mailmap \
        --walk-reflogs --disk-usage? --regexp-ignore-case --all-match --expand-tabs? --no-expand-tabs --root \
        --show-root -m"),
    ("git log|show|whatchanged|rev-list", "-s %git-diff %git-revisions"),
    ("git shortlog", "-censw? %git-diff %git-revisions --email --numbered --group="),
    ("git reflog", "%git-diff %git-revisions 1"),
    ("git reflog show", "%git-diff %git-revisions"),
    ("git reflog exists|list", ""),
    ("git diff|diff-tree|diff-index|diff-files", "%git-diff --cached --staged --merge-base --no-index --base \
        --ours --theirs -0 --root --stdin -m --always --no-commit-id -h"),
    ("git status", "-bsvzu? --branch --short --porcelain? --long --show-stash --verbose --untracked-files? \
        --ignored? --ignore-submodules? --column? --no-column --ahead-behind --renames --find-renames? \
        --no-renames"),
    ("git blame|annotate", "-bcefhlnpstwM?C?L:S: --root --show-stats --reverse --first-parent --porcelain \
        --line-porcelain --incremental --encoding= --date= --progress --ignore-rev= --ignore-revs-file= \
        --color-lines --color-by-age --abbrev= --show-email --show-name --show-number --score-debug --minimal \
        --since="),
    ("git grep", "-aA:B:C:cEe:f:FGhHiIlLm:noPpqrvwWz -O?! -# --after-context= --all-match --and --basic-regexp \
        --before-context= --break --cached --color? --column --context= --count --exclude-standard \
        --extended-regexp --files-with-matches --files-without-match --fixed-strings --full-name \
        --function-context --heading --ignore-case --invert-match --line-number --max-count= --max-depth= \
        --name-only --no-color --no-index --not --null --only-matching --or --perl-regexp --quiet \
        --recurse-submodules --recursive --show-function --text --threads= --untracked --word-regexp \
        --open-files-in-pager?!"),
    ("git ls-files", "-cdfikmostuvzX:x: --abbrev? --cached --deduplicate --deleted --directory --empty-directory \
        --eol --error-unmatch --exclude= --exclude-from= --exclude-per-directory= --exclude-standard --format= \
        --full-name --ignored --killed --modified --others --recurse-submodules --resolve-undo --sparse --stage \
        --unmerged --with-tree="),
    ("git ls-tree", "-dlrtz --abbrev? --format= --full-name --full-tree --long --name-only --name-status \
        --object-only"),
    ("git ls-remote", "!*:: -bhqto: --branches --heads --tags --refs --quiet --exit-code --get-url --sort= \
        --symref --server-option= --upload-pack=! --exec=!"),
    ("git rev-parse", "-q --abbrev-ref? --all --absolute-git-dir --branches? --default= --disambiguate= \
        --exclude= --flags --git-common-dir --git-dir --git-path= --glob= --is-bare-repository \
        --is-inside-git-dir --is-inside-work-tree --is-shallow-repository --local-env-vars --no-flags --no-revs \
        --not --path-format= --prefix= --quiet --remotes? --resolve-git-dir= --revs-only --shared-index-path \
        --short? --show-cdup --show-object-format? --show-prefix --show-ref-format \
        --show-superproject-working-tree --show-toplevel --since= --after= --until= --before= --symbolic \
        --symbolic-full-name --tags? --verify"),
    ("git describe", "--abbrev= --all --always --broken? --candidates= --contains --debug --dirty? --exact-match \
        --exclude= --first-parent --long --match= --tags"),
    ("git cat-file", "-epstZz --batch? --batch-all-objects --batch-check? --buffer --follow-symlinks --mailmap \
        --unordered --use-mailmap"),
    ("git count-objects", "-vH --human-readable --verbose"),
    ("git fsck", "--cache --connectivity-only --dangling --full --name-objects --no-reflogs --progress \
        --references --root --strict --tags --unreachable --verbose"),
    ("git check-ignore|check-attr", "-anqvz --all --cached --no-index --non-matching --quiet --stdin --verbose"),
    ("git merge-base", "-a --all --fork-point --independent --is-ancestor --octopus"),
    ("git name-rev", "--all --always --annotate-stdin --exclude= --name-only --no-undefined --refs= --stdin \
        --tags --undefined"),
    ("git for-each-ref|show-ref", "-dhqs --abbrev? --branches --color? --contains? --count= --dereference \
        --exclude= --exists --format= --hash? --head --heads --ignore-case --merged? --no-contains? --no-merged? \
        --omit-empty --points-at= --quiet --sort= --start-after= --tags --verify"),
    ("git var", "-l"),
    ("git help|version", "-ag --all --build-options --commands-for-guides --config --guides --user-interfaces \
        --developer-interfaces"),
    ("git-branch", "-arvq --abbrev? --all --color? --column? --contains= --format= --ignore-case --list --merged? \
        --no-color --no-contains= --no-merged? --omit-empty --points-at= --quiet --remotes --show-current --sort= \
        --verbose"),
    ("git branch", "0 %git-branch"),
    ("git branch --list|-l", "%git-branch"),
    ("git branch -a|-r|-v|-vv --list|-l", "%git-branch"),
    ("git-tag", "-ln? --color? --column? --contains= --format= --ignore-case --list --merged? --no-contains= \
        --no-merged? --omit-empty --points-at= --sort="),
    ("git tag", "0 %git-tag"),
    ("git tag --list|-l", "%git-tag"),
    ("git remote", "0 -v --verbose"),
    ("git remote show|get-url", "-nv --all --push --verbose"),
    ("git stash list|show", "%git-diff %git-revisions --include-untracked --only-untracked"),
    ("git worktree list", "-vz --expire= --porcelain --verbose"),
    ("git submodule", "0"), ("git submodule status|summary", "-n: --cached --recursive --files --summary-limit="),
    ("git bisect log", ""),
    ("git config", "1 -lz --bool --default= --fixed-value --global --includes --int --local --null --path \
        --show-origin --show-scope --system --type= --worktree"),
    // An editor is opened.
    ("git config edit", "^--help"),
    ("git config --list|-l|--get|--get-all|--get-regexp|--get-urlmatch", "-lz --all --bool --default= \
        --fixed-value --global --includes --int --list --local --name-only --null --path --show-origin \
        --show-scope --system --type= --worktree --get --get-all --get-regexp"),
    ("git config --global|--local|--system --list|-l|--get|--get-all|--get-regexp", "-lz --includes --name-only \
        --null --show-origin --show-scope --type="),
    ("git config list|get", "-lz --all --bool --default= --global --includes --local --name-only --null --regexp \
        --show-names --show-origin --show-scope --system --type= --value= --worktree"),
    ("git clean", "^-n|--dry-run -dfnqxX --dry-run --force --quiet"),
    // Containers, clusters, packages and hosts.
    ("docker|podman", "/ + -cl: --context="),
    ("docker|podman ps|images|logs|inspect|stats|version|info|top|port|history|diff|search|events",
     "-adfn:qst --all --digests --filter= --follow --format= --human --last= --latest --limit= --no-stream \
      --no-trunc --quiet --since= --size --tail= --timestamps --tree --type= --until= --details"),
    ("docker|podman compose", "/ + -f:p: --file= --profile= --project-name="),
    ("docker|podman compose ps|logs|config|ls|images|top|version", "-aqftn: --all --filter= --follow --format= \
        --no-color --no-log-prefix --no-trunc --orphans --quiet --services --since= --status= --tail= \
        --timestamps --until= --images --volumes --profiles --hash="),
    ("docker|podman network|volume|image|container|system|context ls|inspect|list|df|logs|top|port|history|stats|info",
     "-adfqsv --all --filter= --format= --no-trunc --quiet --size --verbose --tail= --follow --timestamps"),
    ("kubectl|oc|k", "/ + -n:c: --namespace= --context= --cluster="),
    ("kubectl|oc|k get|describe|logs|top|explain|version|api-resources|api-versions|events",
     "-n:c:AfhLl:o:ptw --all-containers --all-namespaces --all-pods --api-group= --api-version= --chunk-size= \
      --client --container= --containers --cpu= --context= --field-selector= --filename= --follow --for= \
      --ignore-not-found --label-columns= --limit-bytes= --max-log-requests= --namespace= --namespaced \
      --no-headers --no-trunc --output= --output-watch-events --prefix --previous --recursive --request-timeout= \
      --selector= --show-events --show-kind --show-labels --show-managed-fields --since= --since-time= --sort-by= \
      --tail= --timestamps --types= --verbs= --watch --watch-only -R"),
    ("kubectl|oc|k cluster-info", "0"),
    ("kubectl|oc|k config view|get-contexts|current-context|get-clusters", "-o: --minify --no-headers --output="),
    ("kubectl|oc|k auth can-i|whoami", "-Aqn: --all-namespaces --list --namespace= --no-headers --quiet"),
    ("cargo", "/ + -qv --offline --locked --frozen --color= --quiet --verbose"),
    ("cargo tree|metadata|search|locate-project|pkgid|info", "-aFde:fip:q --all-features --charset= --color= \
        --depth= --duplicates --edges= --features= --format= --format-version= --frozen --invert= --limit= \
        --locked --manifest-path= --message-format= --no-default-features --no-dedupe --no-deps --offline \
        --package= --prefix= --prune= --quiet --registry= --target= --workspace"),
    ("npm", "/ -C: --prefix="),
    ("npm ls|list|view|info|show|outdated|why|explain|search|root|bin|prefix|ping", "-agl --all --depth= --global \
        --json --link --long --omit= --parseable --production --prod --dev --workspace= --workspaces -w:"),
    ("pip|pip3", "/ + -q --disable-pip-version-check --quiet --no-input"),
    ("pip|pip3 list|show|freeze|check|index", "-aef:loqu --all --disable-pip-version-check --exclude= \
        --exclude-editable --files --format= --local --not-required --outdated --path= --quiet --uptodate --user \
        --verbose"),
    ("apt|apt-get|apt-cache|dnf|yum", "/ + -q --quiet"),
    ("apt|apt-get|apt-cache|dnf|yum list|search|show|policy|info|depends|rdepends|check",
     "-afinq --all-versions --available --full --installed --manual-installed --names-only --quiet --upgradable \
      --verbose"),
    ("dpkg", " \
        ^-l|-L|-s|-S|-p|-W|--list|--listfiles|--status|--search|--show|--get-selections|--print-architecture \
        -lLsSpW --list --listfiles --status --search --show --print-avail --get-selections --print-architecture"),
    ("rpm", "^-q|--query -qaiclfdpRs --query --all --info --list --file --package --requires --provides \
        --whatprovides= --changelog --scripts --queryformat="),
    ("gh", "/"),
    ("gh pr|issue|run|repo|release|workflow|gist|label|cache|ruleset|secret list|view|status|diff|checks",
     "-aA:B:cH:j:L:l:q:R:s:S:t:w:b:e:u: --app= --assignee= --author= --base= --branch= --comments --commit= \
      --draft --event= --exit-status --head= --job= --jq= --json= --label= --limit= --log --log-failed --mention= \
      --milestone= --name-only --patch --repo= --required --search= --state= --status= --template= --user= \
      --verbose --workflow= --attempt= --color= --all"),
    ("terraform|tofu", "@ / + -chdir="),
    ("terraform|tofu validate|show|graph|version|output|plan", "@ -json -no-color -raw -input= -var= \
        -var-file= -target= -compact-warnings -lock= -lock-timeout= -parallelism= -refresh= -refresh-only \
        -detailed-exitcode -destroy"),
    ("terraform|tofu state list|show", "@ -id= -state= -no-color"),
];
