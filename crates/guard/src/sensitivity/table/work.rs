//! Where people write, plan and sign in.

use super::super::detector::{Check, Detector, near, token};

pub(super) const TABLE: &[Detector] = &[
    token("linear-key", "a Linear key", &["lin_api_", "lin_oauth_"], r"^lin_(?:api|oauth)_[A-Za-z0-9]{40,64}"),
    token(
        "notion-token",
        "a Notion token",
        &["ntn_", "secret_"],
        r"^(?:ntn_[A-Za-z0-9]{40,60}|secret_[A-Za-z0-9]{43})",
    )
    .check(Check::Random),
    token("zoho-token", "a Zoho token", &["1000."], r"^1000\.[0-9a-f]{32}\.[0-9a-f]{32}"),
    token("teamwork-token", "a Teamwork token", &["tkn.v1_"], r"^tkn\.v1_[A-Za-z0-9+/=_-]{40,100}"),
    token("devin-key", "a Devin key", &["apk_"], r"^apk_(?:user_)?[A-Za-z0-9]{60,240}={0,2}"),
    near("airtable-token", "an Airtable token", &["pat"], (0, 90), r"^(pat[A-Za-z0-9]{14}\.[0-9a-f]{64})\b"),
    near(
        "airtable-key",
        "an Airtable key",
        &["airtable"],
        (0, 90),
        r"(?i)airtable[\s\S]{0,40}?\b(key[A-Za-z0-9]{14})\b",
    ),
    near(
        "asana-token",
        "an Asana token",
        &["asana"],
        (0, 120),
        r#"(?i)asana[\w .-]{0,30}["'`]?[^\w\n]{1,8}(\d/\d{10,20}(?:/\d{10,20})?:[0-9a-f]{32}|[0-9a-z]{32})\b"#,
    ),
    token("atlassian-token", "an Atlassian token", &["ATATT3"], r"^ATATT3[A-Za-z0-9_=.+/-]{60,300}"),
    near(
        "okta-token",
        "an Okta token",
        &["okta", "SSWS"],
        (1, 100),
        r#"(?i)(?:^|[^a-z])(?:okta|ssws)[\w .-]{0,30}["'`]?[^\w\n]{1,8}(00[\w=-]{40})(?:[^\w-]|$)"#,
    ),
    token(
        "hubspot-token",
        "a HubSpot token",
        &["pat-na1-", "pat-eu1-", "pat-na2-"],
        r"^pat-(?:na|eu)\d-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    ),
    token("typeform-token", "a Typeform token", &["tfp_"], r"^tfp_[A-Za-z0-9_.=-]{40,70}"),
    token("frameio-token", "a Frame.io token", &["fio-u-"], r"^fio-u-[A-Za-z0-9_=-]{64}"),
    token("adobe-secret", "an Adobe client secret", &["p8e-", "p8-", "s8e-"], r"(?i)^(?:p8e|p8|s8e)-[a-z0-9_-]{32}"),
    token("adafruit-key", "an Adafruit key", &["aio_"], r"^aio_[A-Za-z0-9]{28}"),
    token("canva-secret", "a Canva secret", &["cnvca"], r"^cnvca[A-Za-z0-9_-]{40,60}"),
    token("salesforce-token", "a Salesforce session", &["00D"], r"^00D[A-Za-z0-9]{12,15}![A-Za-z0-9_.]{80,120}"),
    near(
        "support-desk-key",
        "a key of a support desk",
        &["zendesk", "freshdesk"],
        (0, 90),
        r#"(?i)(?:zendesk|freshdesk)[\w .-]{0,30}["'`]?[^\w\n]{1,8}([A-Za-z0-9]{40}|[A-Za-z0-9]{20})\b"#,
    )
    .check(Check::Random),
    token("intercom-token", "an Intercom token", &["dG9rOj"], r"^dG9rOj[A-Za-z0-9+/]{40,60}={0,2}"),
    token("intra42-secret", "a 42 client secret", &["s-s4t2ud-", "s-s4t2af-"], r"^s-s4t2(?:ud|af)-[0-9a-f]{64}"),
    token(
        "authress-key",
        "an Authress key",
        &["sc_", "ext_", "scauth_", "authress_"],
        r"(?i)^(?:sc|ext|scauth|authress)_[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.(?:acc)[_-][a-z0-9-]{10,32}\.[a-z0-9+/_=-]{30,120}",
    ),
    near(
        "authress-service-key",
        "an Authress key",
        &[".acc_", ".acc-"],
        (50, 170),
        r"(?i)((?:sc|ext|scauth|authress)_[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-][a-z0-9-]{10,32}\.[a-z0-9+/_=-]{30,120})",
    ),
    token("freemius-key", "a Freemius secret", &["sk_"], r#"^sk_[\w!@#$%^&*()+=.~-]{29}(?:["']|$)"#)
        .check(Check::Random),
    token(
        "age-key",
        "an age secret key",
        &["AGE-SECRET-KEY-1"],
        r"(?i)^AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}",
    ),
    token("trello-token", "a Trello token", &["ATTA"], r"^ATTA[0-9a-f]{60,80}"),
    token("google-app-script", "a deployment's key", &["AKfycb"], r"^AKfycb[A-Za-z0-9_-]{50,80}"),
    token(
        "bitwarden",
        "a Bitwarden token",
        &["0."],
        r"^0\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.[A-Za-z0-9]{30}:[A-Za-z0-9+/]{22}==",
    ),
    token("appsync-key", "a key of AppSync", &["da2-"], r"^da2-[a-z0-9]{26}"),
    token("kolide-key", "a key of Kolide", &["k2sk_v1_"], r"^k2sk_v1_[0-9a-zA-Z]{24}"),
    token(
        "braintree-token",
        "an access token of Braintree",
        &["access_token$production$", "access_token$sandbox$"],
        r"^access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-z]{32}",
    ),
];
