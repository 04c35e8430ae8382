//! Payments, shops, banks and post.

use super::super::detector::{Check, Detector, near, token};

pub(super) const TABLE: &[Detector] = &[
    token(
        "stripe-key",
        "a Stripe key",
        &["sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_", "sk_org_"],
        r"^[sr]k_(?:live|test|prod|org)_[A-Za-z0-9_]{10,255}",
    ),
    token("stripe-webhook-secret", "a Stripe webhook secret", &["whsec_"], r"^whsec_[A-Za-z0-9+/=]{24,64}"),
    token(
        "square-token",
        "a Square token",
        &["sq0atp-", "sq0csp-", "sq0idp-", "EAAA"],
        r"^(?:sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,60}|EAAA[A-Za-z0-9+=_-]{56,64})",
    )
    .check(Check::Random),
    token(
        "paypal-token",
        "a PayPal access token",
        &["access_token$"],
        r"^access_token\$(?:production|sandbox|live)\$[0-9a-z]{16}\$[0-9a-f]{32}",
    ),
    token("razorpay-key", "a Razorpay key", &["rzp_live_", "rzp_test_"], r"^rzp_(?:live|test)_[A-Za-z0-9]{14,30}"),
    token(
        "plaid-token",
        "a Plaid token",
        &["access-sandbox-", "access-development-", "access-production-"],
        r"^access-(?:sandbox|development|production)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    ),
    token(
        "shopify-token",
        "a Shopify token",
        &["shpat_", "shpca_", "shppa_", "shpss_", "shptka_", "shpua_"],
        r"^shp(?:at|ca|pa|ss|tka|ua)_[0-9A-Za-z]{32}",
    ),
    token(
        "flutterwave-key",
        "a Flutterwave key",
        &["FLWSECK", "FLWPUBK"],
        r"(?i)^FLW(?:SECK|PUBK)(?:_TEST)?-[0-9a-hA-H]{12,40}(?:-X)?",
    )
    .check(Check::Real),
    token("lob-key", "a Lob key", &["live_", "test_"], r"^(?:live|test)_(?:pub_)?[A-Za-z0-9]{31,45}")
        .check(Check::Random),
    token("gocardless-token", "a GoCardless token", &["live_"], r"^live_[A-Za-z0-9_-]{38,42}").check(Check::Random),
    token("shippo-token", "a Shippo token", &["shippo_"], r"^shippo_(?:live|test)_[0-9a-f]{40}"),
    token("easypost-key", "an EasyPost key", &["EZAK", "EZTK"], r"(?i)^EZ[AT]K[a-z0-9]{54}"),
    token("duffel-token", "a Duffel token", &["duffel_"], r"^duffel_(?:test|live)_[A-Za-z0-9_=-]{43}"),
    token("adyen-key", "an Adyen key", &["AQE"], r"^AQE[a-z]hmf[A-Za-z0-9+/=-]{60,160}"),
    token("paystack-key", "a Paystack key", &["sk_live", "sk_test"], r"^sk_(?:live|test)_[0-9a-f]{40}"),
    token(
        "mercadopago-token",
        "a Mercado Pago token",
        &["APP_USR-", "TEST-"],
        r"^(?:APP_USR|TEST)-\d{10,20}-\d{6}-[0-9a-f]{32}-\d{6,12}",
    ),
    near("maxmind-license", "a MaxMind key", &["_mmk"], (40, 0), r"([A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk)"),
    token("settlemint-token", "a SettleMint token", &["sm_aat_", "sm_pat_", "sm_sat_"], r"^sm_[aps]at_[A-Za-z0-9]{16}"),
    token("sendgrid-key", "a SendGrid key", &["SG."], r"^SG\.[A-Za-z0-9_=.-]{66}").check(Check::Random),
    token("mailgun-key", "a Mailgun key", &["key-", "pubkey-"], r"^(?:pub)?key-[0-9a-z]{32}").check(Check::Random),
    near(
        "mailgun-signing-key",
        "a Mailgun key",
        &["mailgun", "mg."],
        (0, 120),
        r"(?i)(?:mailgun|mg\.)[\s\S]{0,50}?\b([0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8})\b",
    ),
    near("mailchimp-key", "a Mailchimp key", &["-us"], (33, 3), r"(?:^|[^0-9A-Za-z])([0-9a-f]{32}-us\d{1,2})"),
    token("mandrill-key", "a Mandrill key", &["md-"], r"^md-[A-Za-z0-9_-]{22}").check(Check::Random),
    token("brevo-key", "a Brevo key", &["xkeysib-", "xsmtpsib-"], r"^x(?:key|smtp)sib-[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    token("resend-key", "a Resend key", &["re_"], r"^re_[A-Za-z0-9]{8}_[A-Za-z0-9]{22,26}").check(Check::Random),
    token("klaviyo-key", "a Klaviyo key", &["pk_"], r"^pk_[0-9a-f]{34}"),
    token(
        "coinbase-key",
        "a key of an exchange",
        &["organizations/"],
        r"^organizations/[0-9a-f-]{36}/apiKeys/[0-9a-f-]{36}",
    ),
];
