//! Chat, telephony and networks of people.

use super::super::detector::{Check, Detector, near, token};

pub(super) const TABLE: &[Detector] = &[
    token(
        "slack-token",
        "a Slack token",
        &["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxo-", "xoxc-", "xoxd-", "xoxe-", "xoxe.", "xoxb_"],
        r"(?i)^xox(?:e\.xox[bp]-\d-[a-z0-9]{100,200}|e-\d-[a-z0-9]{100,200}|[bpaorse]-(?:\d-)?\d{5,15}-[a-z0-9-]{8,146}|c-[a-z0-9-]{20,150}|d-[a-z0-9%+/=-]{40,300})",
    ),
    token("slack-legacy-token", "a Slack token", &["xoxa-", "xoxr-"], r"(?i)^xox[ar]-(?:\d-)?[0-9a-z]{8,48}")
        .check(Check::Random),
    token("slack-app-token", "a Slack app token", &["xapp-"], r"(?i)^xapp-\d-[a-z0-9]+-\d+-[a-z0-9]{20,80}"),
    token(
        "slack-webhook",
        "a Slack webhook",
        &["hooks.slack.com/"],
        r"^hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/_-]{30,90}",
    )
    .check(Check::Real),
    near(
        "discord-webhook",
        "a Discord webhook",
        &["/api/webhooks/"],
        (40, 110),
        r"(?i)discord(?:app)?\.com/api/webhooks/(\d{15,22}/[\w-]{50,90})",
    ),
    near(
        "discord-bot-token",
        "a Discord bot's token",
        &["discord", "bot", "token", "client.login", "client.run"],
        (0, 130),
        r"\b([MNO][A-Za-z\d_-]{23,25}\.[\w-]{6}\.[\w-]{27,42})(?:[^\w-]|$)",
    )
    .check(Check::Random),
    near(
        "telegram-bot-token",
        "a Telegram bot's token",
        &[":AA"],
        (14, 34),
        r"(?:^|[^\d])(?:bot)?(\d{6,14}:AA[A-Za-z0-9_-]{32,33})(?:[^\w-]|$)",
    ),
    near(
        "telegram-bot-key",
        "a Telegram bot's token",
        &["telegr", "/bot", "tgbot"],
        (0, 110),
        r"(?i)(?:telegr|/bot|tgbot)[\s\S]{0,50}?\b(\d{5,16}:[A-Za-z0-9_-]{34,35})(?:[^\w-]|$)",
    ),
    near(
        "teams-webhook",
        "a Teams webhook",
        &["webhook.office.com", "outlook.office.com/webhook"],
        (0, 240),
        r"((?:webhook|outlook)\.office\.com/webhook(?:b2)?/[0-9a-f-]{36}@[0-9a-f-]{36}/IncomingWebhook/[0-9a-f]{32}/[0-9a-f-]{36})",
    ),
    near(
        "hook-address",
        "an address that whoever knows it may write to",
        &["hooks.zapier.com/hooks/catch/", ".tines.com/webhook/", "api.powerplatform.com"],
        (0, 400),
        r#"(?:hooks\.zapier\.com/hooks/catch/([A-Za-z0-9/]{12,60})|\.tines\.com/webhook/([a-z0-9]{32}/[a-z0-9]{32})|api\.powerplatform\.com[^\s"']{0,300}?sig=([A-Za-z0-9_%-]{20,80}))"#,
    )
    .check(Check::Real),
    token("twilio-key", "a Twilio key", &["SK"], r"^SK[0-9a-f]{32}"),
    token("twilio-account", "a Twilio account", &["AC"], r"^AC[0-9a-f]{32}"),
    token("twitter-bearer", "a Twitter bearer token", &["AAAAAAAAAAAAAAAAAAAA"], r"^A{20,24}[A-Za-z0-9%]{60,120}")
        .check(Check::Real),
    near(
        "twitter-token",
        "a Twitter access token",
        &["twitter", "access_token", "oauth_token", "token", "accesstoken"],
        (0, 110),
        r"\b([0-9]{8,20}-[A-Za-z0-9]{38,45})\b",
    )
    .check(Check::Random),
    token(
        "facebook-token",
        "a Facebook access token",
        &["EAACEdEose0cBA", "EAAB", "EAAM", "EAAC", "EAAG", "EAAD", "EAAI", "EAAJ", "EAAL"],
        r"^EAA[A-Z][A-Za-z0-9]{28,300}",
    )
    .check(Check::Random),
    near(
        "facebook-app-token",
        "a Facebook app's token",
        &["facebook", "access_token", "token"],
        (0, 80),
        r"\b(\d{15,16}(?:\||%7[Cc])[0-9a-zA-Z_-]{27,40})",
    ),
    token("instagram-token", "an Instagram token", &["IGQV", "IGAA"], r"^IG(?:QV|AA)[A-Za-z0-9_-]{100,250}"),
    token(
        "mattermost-token",
        "a chat token",
        &["mattermost"],
        r"(?i)^mattermost[\w .-]{0,20}[\s'\x22]{0,3}[:=>,|]{1,4}[\s'\x22`=]{0,5}([a-z0-9]{26})(?:[^\w]|$)",
    ),
    token(
        "mapbox-token",
        "a Mapbox token",
        &["sk.eyJ", "pk.eyJ"],
        r"^[sp]k\.eyJ[A-Za-z0-9_-]{40,}\.[A-Za-z0-9_-]{20,}",
    ),
    token("linkedin-token", "a LinkedIn token", &["WPL_AP1.", "WPL_AP0."], r"^WPL_AP[01]\.[A-Za-z0-9+/=.]{15,40}"),
    token("dropbox-token", "a Dropbox token", &["sl.u.", "sl.B", "sl.A"], r"^sl\.(?:u\.)?[A-Za-z0-9_=-]{100,1500}"),
    near(
        "dropbox-old-token",
        "a Dropbox token",
        &["AAAAAAAAAA"],
        (14, 50),
        r"\b([A-Za-z0-9]{11}A{10}[A-Za-z0-9_=-]{43})",
    ),
];
