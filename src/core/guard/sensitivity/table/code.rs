//! Hosts of code and packages, and what builds it.

use super::super::detector::{Check, Detector, near, token};

pub(super) const TABLE: &[Detector] = &[
    token(
        "github-token",
        "a GitHub token",
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
        r"^gh[pousr]_[A-Za-z0-9_]{36,255}",
    ),
    token("github-fine-grained-token", "a GitHub token", &["github_pat_"], r"^github_pat_[A-Za-z0-9_]{50,120}"),
    token(
        "gitlab-token",
        "a GitLab token",
        &[
            "glpat-", "gldt-", "glft-", "glffct-", "glsoat-", "glrt-", "glrtr-", "glcbt-", "glptt-", "glagent-",
            "gloas-", "glimt-", "glwt-",
        ],
        r"^(?:gl(?:pat|dt|ft|ffct|soat|rtr?|wt)-(?:[\w-]{20}|[\w-]{27,300}\.[0-9a-z]{2}\.[0-9a-z]{9}|t\d_[\w-]{20,27})|glptt-[0-9a-f]{40}|gloas-[0-9a-f]{64}|glimt-[\w-]{25}|glagent-[\w-]{50}|glcbt-(?:[0-9a-fA-F]{1,5}_)?[\w-]{20})",
    ),
    token("gitlab-runner-token", "a GitLab runner's token", &["GR1348941"], r"^GR1348941[\w-]{20,50}"),
    near("gitlab-session", "a GitLab session", &["_gitlab_session"], (0, 80), r"_gitlab_session=([0-9a-z]{32})"),
    token(
        "bitbucket-token",
        "a Bitbucket token",
        &["ATBB", "ATCTT3"],
        r"^(?:ATBB[A-Za-z0-9_=.-]{28,60}|ATCTT3[A-Za-z0-9_=.+/-]{60,300})",
    ),
    token("npm-token", "an npm token", &["npm_"], r"^npm_[A-Za-z0-9]{36}"),
    near(
        "npm-auth",
        "an npm token",
        &["_authToken", ":_auth", ":_password"],
        (1, 400),
        r#"(?i)(?:^|[\s:])_(?:auth|authtoken|password)["']?[ \t]*=[ \t]*["']?([A-Za-z0-9_=+/.-]{12,350})"#,
    )
    .check(Check::Real),
    token("pypi-token", "a PyPI token", &["pypi-"], r"^pypi-Ag[A-Za-z0-9_-]{50,1000}"),
    token("rubygems-key", "a RubyGems key", &["rubygems_"], r"^rubygems_[0-9a-f]{48}"),
    token("crates-io-token", "a crates.io token", &["cio"], r"^cio[A-Za-z0-9]{32}"),
    token("docker-token", "a Docker token", &["dckr_pat_", "dckr_oat_"], r"^dckr_[po]at_[A-Za-z0-9_-]{26,60}"),
    near(
        "docker-config-auth",
        "credentials of a container registry",
        &["\"auth\"", "\\\"auth\\\""],
        (0, 600),
        r#"^\\?"auth\\?"\s{0,4}:\s{0,4}\\?"([A-Za-z0-9+/=]{8,500})"#,
    )
    .check(Check::Basic),
    token(
        "docker-swarm-token",
        "a Docker Swarm token",
        &["SWMTKN-1-", "SWMKEY-1-"],
        r"^SW(?:MTKN-1-[0-9a-z]{40,60}-[0-9a-z]{20,30}|MKEY-1-[A-Za-z0-9+/]{43})",
    ),
    token("nuget-key", "a NuGet key", &["oy2"], r"^oy2[a-z0-9]{43}"),
    token("clojars-token", "a Clojars token", &["CLOJARS_"], r"(?i)^CLOJARS_[a-z0-9]{60}"),
    token(
        "packagist-token",
        "a Packagist token",
        &["packagist_"],
        r"^packagist_[ou][ru][gt]?_?(?:uut_|ot_)?[0-9a-f]{40,80}",
    ),
    token(
        "artifactory-token",
        "an Artifactory key",
        &["AKC", "AP"],
        r"^(?:AKC[A-Za-z0-9]{61,73}|AP[0-9A-Fa-f][A-Za-z0-9]{30,90})",
    )
    .check(Check::Random),
    token("artifactory-reference", "an Artifactory reference token", &["cmVmdGtuO"], r"^cmVmdGtuO[A-Za-z0-9]{50,70}"),
    token(
        "circleci-token",
        "a CircleCI token",
        &["CCIPAT_", "CCIPRJ_"],
        r"(?i)^CCIP(?:AT|RJ)_[A-Za-z0-9]{22}_[0-9a-f]{40}",
    ),
    token("buildkite-token", "a Buildkite token", &["bkua_", "bkaj_", "bkct_"], r"^bk(?:ua|aj|ct)_[A-Za-z0-9]{40}"),
    token("sonar-token", "a Sonar token", &["squ_", "sqp_", "sqa_"], r"^sq[upa]_[0-9a-zA-Z]{40}"),
    token(
        "sourcegraph-token",
        "a Sourcegraph token",
        &["sgp_", "slk_", "sgd_"],
        r"^(?:sgp_(?:(?:[0-9a-fA-F]{16}|local)_)?[0-9a-fA-F]{40}|slk_[0-9a-f]{64}|sgd_[0-9a-f]{64})",
    ),
    token("snyk-token", "a Snyk token", &["snyk_"], r"^snyk_(?:uat|sat)\.[0-9a-f]{8}\.[\w.-]{60,}"),
    token("postman-key", "a Postman key", &["PMAK-"], r"(?i)^PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    token("readme-key", "a ReadMe key", &["rdme_"], r"^rdme_[0-9a-z]{70}"),
    token(
        "harness-token",
        "a Harness token",
        &["pat.", "sat."],
        r"^[ps]at\.[\w-]{20,24}\.[0-9a-fA-F]{24}\.[A-Za-z0-9]{20}",
    ),
    token("octopus-key", "an Octopus Deploy key", &["API-"], r"^API-[A-Z0-9]{26}"),
    token("prefect-key", "a Prefect key", &["pnu_", "pnb_"], r"^pn[ub]_[A-Za-z0-9]{36}"),
    token("infracost-key", "an Infracost key", &["ico-"], r"^ico-[A-Za-z0-9]{32}"),
    token("cursor-key", "a Cursor key", &["crsr_"], r"^crsr_[0-9a-f]{64}"),
    token("deno-token", "a Deno token", &["ddp_", "ddw_"], r"^dd[pw]_[A-Za-z0-9]{36}"),
    token("jsr-token", "a JSR token", &["jsrp_", "jsrs_", "jsrd_"], r"^jsr[psd]_[A-Za-z0-9]{40,80}"),
    token("thunderstore-token", "a Thunderstore token", &["tss_"], r"^tss_[A-Za-z0-9]{30,40}"),
    near(
        "sidekiq-key",
        "Sidekiq credentials",
        &["contribsys"],
        (60, 60),
        r#"(?i)\b([0-9a-f]{8}:[0-9a-f]{8})@(?:gems|enterprise)\.contribsys\.com|contribsys__com[\s"'=:,>]{1,8}([0-9a-f]{8}:[0-9a-f]{8})"#,
    ),
    token("gradle-access-key", "a Gradle access key", &["cmd5"], r"^cmd5[A-Za-z0-9]{50,60}"),
    token(
        "figma-token",
        "a Figma token",
        &["figd_", "figo_", "figu_", "fig"],
        r"^fig(?:d|o|u|or|oh|our|ur|uh|dh|dr)_[A-Za-z0-9_-]{38,50}",
    ),
];
