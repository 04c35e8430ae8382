//! Monitoring, logs, analytics.

use super::super::detector::{Check, Detector, near, token};

pub(super) const TABLE: &[Detector] = &[
    near(
        "datadog-key",
        "a Datadog key",
        &["datadog", "dd_api", "dd_app", "dd-api", "dd-app"],
        (0, 110),
        r#"(?i)(?:datadog|dd[_-]ap[ip])[\w .-]{0,30}["'`]?[^\w\n]{1,8}([0-9a-f]{32}|[0-9a-z]{40})\b"#,
    ),
    token("datadog-token", "a Datadog token", &["ddpat_", "ddapp_"], r"^dd(?:pat|app)_[A-Za-z0-9]{34,80}"),
    token(
        "new-relic-key",
        "a New Relic key",
        &["NRAK-", "NRII-", "NRJS-", "NRRA-", "NRAA-", "NRIQ-", "NRSP-"],
        r"(?i)^NR(?:AK-[A-Z0-9]{27}|II-[A-Z0-9_-]{32}|JS-[a-f0-9]{19}|RA-[a-f0-9]{42}|AA-[a-f0-9]{27}|IQ-[\w-]{32}|SP-[a-z]{2}\d{2}[a-f0-9]{31})",
    ),
    near(
        "new-relic-license",
        "a New Relic licence key",
        &["NRAL"],
        (40, 0),
        r"(?i)\b((?:[a-z]{2}[0-9]{2}xx)?[0-9a-f]{30,36}(?:FFFF)?NRAL)\b",
    ),
    token(
        "sentry-token",
        "a Sentry token",
        &["sntrys_", "sntryu_"],
        r"^(?:sntrys_eyJ[A-Za-z0-9+/=_-]{80,500}|sntryu_[0-9a-f]{64})",
    ),
    token(
        "grafana-token",
        "a Grafana token",
        &["glsa_", "glc_eyJ", "eyJrIjoi"],
        r"^(?:glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8}|glc_eyJ[A-Za-z0-9+/]{40,400}={0,3}|eyJrIjoi[A-Za-z0-9]{60,400}={0,3})",
    ),
    token(
        "dynatrace-token",
        "a Dynatrace token",
        &["dt0c01.", "dt0s16.", "dt0s01.", "dt0e01.", "dt0a01."],
        r"(?i)^dt0[a-z]\d{2}\.[a-z0-9]{8,24}\.[a-z0-9]{64}",
    ),
    token("honeycomb-key", "a Honeycomb key", &["hcaik_", "hcxik_", "hcamk_"], r"^hc[a-z]{3}_[A-Za-z0-9]{58}"),
    token("posthog-key", "a PostHog key", &["phx_", "phs_"], r"^ph[xs]_[A-Za-z0-9_]{36,60}"),
    token(
        "axiom-token",
        "an Axiom token",
        &["xaat-", "xapt-"],
        r"^xa(?:at|pt)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    ),
    token("checkly-key", "a Checkly key", &["cu_"], r"^cu_[0-9a-f]{32}"),
    token("pagerduty-key", "a PagerDuty key", &["pdus+", "pdeu+"], r"^pd(?:us|eu)\+[A-Za-z0-9_+-]{20}"),
    token(
        "launchdarkly-key",
        "a LaunchDarkly key",
        &["sdk-", "api-", "mob-"],
        r"^(?:sdk|api|mob)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    ),
    token("statsig-key", "a Statsig key", &["secret-"], r"^secret-[A-Za-z0-9]{40,50}"),
    token("segment-key", "a Segment token", &["sgp_"], r"^sgp_[A-Za-z0-9]{64}"),
    token("beamer-token", "a Beamer token", &["b_"], r"^b_[A-Za-z0-9=_-]{44}").check(Check::Random),
    token("contentful-token", "a Contentful token", &["CFPAT-"], r"^CFPAT-[A-Za-z0-9_-]{43}"),
    token(
        "wakatime-key",
        "a WakaTime key",
        &["waka_", "waka_sec_", "waka_tok_"],
        r"^waka_(?:sec_|tok_)?[A-Za-z0-9-]{36,80}",
    ),
    token("logfire-token", "a Logfire token", &["pylf_v"], r"^pylf_v\d(?:_[a-z]+)?_[A-Za-z0-9]{40,50}"),
    near(
        "sumologic-key",
        "a Sumo Logic key",
        &["sumo"],
        (0, 120),
        r#"(?i)sumo(?:logic|[_ .-])[\w .-]{0,30}["'`]?[^\w\n]{1,8}((?-i:su)[A-Za-z0-9]{12}|[A-Za-z0-9]{64})\b"#,
    ),
    near(
        "sonar-login",
        "a Sonar token",
        &["sonar"],
        (0, 90),
        r"(?i)^sonar[\w.-]{0,12}login[\x22']?[^\w\n]{1,8}([0-9a-f]{40})\b",
    ),
    near(
        "splunk-token",
        "a Splunk token",
        &["splunk"],
        (0, 90),
        r"(?i)\bsplunk[ \t]+([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})",
    ),
];
