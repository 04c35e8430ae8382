//! Clouds, databases, and what holds their secrets.

use super::super::detector::{Check, Detector, near, token};

pub(super) const TABLE: &[Detector] = &[
    token(
        "aws-access-key",
        "an AWS access key",
        &["AKIA", "ASIA", "ABIA", "ACCA", "A3T"],
        r"^(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}",
    ),
    token(
        "aws-principal",
        "an identifier of AWS that goes with keys",
        &["AIDA", "AROA", "AGPA", "AIPA", "ANPA", "ANVA"],
        r"^A(?:ID|RO|GP|IP|NP|NV)A[A-Z0-9]{16,17}",
    )
    .check(Check::Random),
    near(
        "aws-secret-key",
        "an AWS secret key",
        &["aws", "secret_access_key", "secretaccesskey", "secret_key", "secretkey", "sk="],
        (0, 110),
        r#"(?i)(?:aws|secret_?access_?key|secret_?key)[\w .,:\\"'\[\]()/-]{0,50}(?:=>|[:=,>]|is)[\s"'`\\]{0,5}([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)"#,
    )
    .check(Check::Random),
    token(
        "aws-session-token",
        "an AWS session token",
        &["IQoJb3JpZ2lu", "FwoGZXIvYXdz", "FQoGZXIvYXdz"],
        r"^(?:IQoJb3JpZ2lu|F[wQ]oGZXIvYXdz)[A-Za-z0-9+/=%]{60,2000}",
    )
    .check(Check::None),
    token(
        "aws-mws-key",
        "an Amazon MWS token",
        &["amzn.mws."],
        r"^amzn\.mws\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    ),
    token("aws-oauth-secret", "an Amazon OAuth secret", &["amzn1.oa2-cs.v1."], r"^amzn1\.oa2-cs\.v1\.[0-9a-f]{64}"),
    token(
        "aws-bedrock-key",
        "an Amazon Bedrock key",
        &["ABSKQmVkcm9ja0FQSUtleS", "bedrock-api-key-"],
        r"^(?:ABSK[A-Za-z0-9+/]{60,269}={0,2}|bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t[A-Za-z0-9+/=]*)",
    )
    .check(Check::None),
    token("google-api-key", "a Google API key", &["AIza"], r"^AIza[A-Za-z0-9_-]{35}"),
    token("google-oauth-token", "a Google OAuth token", &["ya29."], r"^ya29\.[A-Za-z0-9_-]{20,1000}"),
    token("google-oauth-secret", "a Google OAuth client secret", &["GOCSPX-"], r"^GOCSPX-[A-Za-z0-9_-]{20,40}"),
    token("google-refresh-token", "a Google refresh token", &["1//0"], r"^1//0[A-Za-z0-9_-]{40,150}"),
    token("firebase-server-key", "a Firebase server key", &["AAAA"], r"^AAAA[A-Za-z0-9_-]{7}:[A-Za-z0-9_-]{134,160}"),
    token(
        "google-recaptcha-secret",
        "a reCAPTCHA key",
        &["6Le", "6Ld", "6Lc"],
        r"^6L[c-f][A-Za-z0-9_-]{37}",
    )
    .check(Check::Random),
    near(
        "azure-client-secret",
        "an Azure client secret",
        &["Q~"],
        (4, 44),
        r"(?:^|[^\w~.-])([\w~.-]{3}\dQ~[\w~.-]{31,34})(?:[^\w~.-]|$)",
    )
    .check(Check::Random),
    near(
        "azure-storage-key",
        "a key of an Azure service",
        &["AccountKey", "SharedAccessKey", "AccessKey=", "SharedSecret"],
        (0, 140),
        r#"(?i)(?:AccountKey|SharedAccessKey|AccessKey|SharedSecret)["']?\s{0,3}[=:]\s{0,3}["']?([A-Za-z0-9+/]{42,87}={1,2})"#,
    )
    .check(Check::Random),
    near(
        "azure-sas",
        "a shared access signature",
        &["sig="],
        (0, 140),
        r"(?i)[?&;]?sig=([A-Za-z0-9%+/]{43,130}(?:%3D|=))",
    )
    .check(Check::Random),
    near(
        "azure-devops-token",
        "an Azure DevOps token",
        &["AZDO"],
        (80, 10),
        r"([A-Za-z0-9]{40,84}AZDO[A-Za-z0-9]{4})",
    ),
    near(
        "azure-function-key",
        "a key of an Azure service",
        &[
            "AzFu", "AzSe", "ACDb", "+ASt", "+AMC", "APIM", "ARM", "AzCa", "+ACR", "AIoT", "+AEh", "+ASb", "+ABa", "AZEG",
        ],
        (77, 48),
        r"([A-Za-z0-9_/+-]{30,76}(?:AzFu|AzSe|ACDb|\+ASt|\+AMC|APIM|\+ARm|AzCa|\+ACR|AIoT|\+AEh|\+ASb|\+ABa|AZEG)[A-Za-z0-9_/+=-]{5,10})",
    )
    .check(Check::Random),
    // A mark in the middle, then the month, the platform and the service: the form of newer keys of all services.
    near(
        "azure-annotated-key",
        "a key of an Azure service",
        &["JQQJ9"],
        (52, 36),
        r"([A-Za-z0-9]{52}JQQJ9[9DH][A-Za-z0-9][A-L][A-Za-z0-9]{16}[A-Za-z][A-Za-z0-9]{7}(?:[A-Za-z0-9]{2}==)?)",
    ),
    near(
        "azure-host-key",
        "a key of an Azure service",
        &[".documents.azure.com", ".servicebus.windows", ".azurecr.io", ".redis.cache.windows", ".search.windows"],
        (0, 260),
        r"\.(?:documents\.azure\.com|servicebus\.windows|azurecr\.io|redis\.cache\.windows|search\.windows)[^\n]{0,170}?[^\nA-Za-z0-9/+=]([A-Za-z0-9/+]{43}=|[A-Za-z0-9/+]{86}==)(?:[^A-Za-z0-9/+=]|$)",
    )
    .check(Check::Random),
    token("alibaba-key", "an Alibaba Cloud key", &["LTAI"], r"^LTAI[A-Za-z0-9]{12,26}").check(Check::Random),
    token("tencent-key", "a Tencent Cloud key", &["AKID"], r"^AKID[A-Za-z0-9]{32}").check(Check::Random),
    token(
        "yandex-key",
        "a Yandex Cloud key",
        &["AQVN", "YCAJ", "YCAB", "YCM", "YCN", "YCO", "YCP", "y0_", "t1."],
        r"^(?:AQVN[A-Za-z0-9_-]{35,38}|YCAJE[A-Za-z0-9_-]{20,}|YC[a-zA-Z0-9_-]{38}|y0_[A-Za-z0-9_-]{50,90}|t1\.[A-Z0-9a-z_-]+={0,2}\.[A-Z0-9a-z_-]{86}={0,2})",
    )
    .check(Check::Random),
    token(
        "digitalocean-token",
        "a DigitalOcean token",
        &["dop_v1_", "doo_v1_", "dor_v1_"],
        r"^do[opr]_v1_[0-9a-f]{64}",
    ),
    token("heroku-key", "a Heroku key", &["HRKU-"], r"^HRKU-[A-Za-z0-9_-]{36,80}"),
    near(
        "heroku-api-key",
        "a Heroku key",
        &["heroku"],
        (0, 90),
        r#"(?i)heroku[\w .-]{0,30}["'`]?[^\w\n]{1,8}([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"#,
    ),
    token(
        "fly-token",
        "a Fly.io token",
        &["fo1_", "fm1a_", "fm1r_", "fm2_"],
        r"^(?:fo1_[\w-]{40,50}|fm(?:1[ar]|2)_[A-Za-z0-9+/]{60,}={0,3})",
    ),
    token(
        "netlify-token",
        "a Netlify token",
        &["nfp_", "nfc_", "nfo_", "nfb_", "nfu_"],
        r"^nf[pcobu]_[A-Za-z0-9_]{36,40}",
    ),
    token(
        "vercel-token",
        "a Vercel token",
        &["vcp_", "vci_", "vca_", "vcr_", "vck_", "vercel_blob_rw_"],
        r"^(?:vc[piark]_[A-Za-z0-9]{24,60}|vercel_blob_rw_[A-Za-z0-9]{10,20}_[A-Za-z0-9]{28,34})",
    ),
    token("cloudflare-origin-key", "a Cloudflare origin CA key", &["v1.0-"], r"^v1\.0-[0-9a-f]{24}-[0-9a-f]{146}"),
    token(
        "cloudflare-token",
        "a Cloudflare token",
        &["cfut_", "cfat_", "cfk_"],
        r"^cf(?:ut|at|k)_[A-Za-z0-9_-]{40,60}",
    ),
    near(
        "cloudflare-key",
        "a Cloudflare key",
        &["cloudflare", "CF_API", "CF_KEY"],
        (0, 100),
        r#"(?i)(?:cloudflare|cf_(?:api|key))[\w .-]{0,30}["'`]?[^\w\n]{1,8}([0-9a-f]{37}|[A-Za-z0-9_-]{40})(?:[^\w-]|$)"#,
    )
    .check(Check::Random),
    token("render-key", "a Render key", &["rnd_"], r"^rnd_[A-Za-z0-9]{28,40}"),
    token(
        "supabase-token",
        "a Supabase key",
        &["sbp_", "sb_secret_"],
        r"^(?:sbp_(?:v0_)?[0-9a-f]{40}|sb_secret_[A-Za-z0-9_-]{22,45})",
    ),
    token(
        "planetscale-token",
        "a PlanetScale credential",
        &["pscale_"],
        r"^pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_=.-]{32,64}",
    ),
    token("neon-key", "a Neon key", &["napi_", "npg_"], r"^(?:napi_[a-z0-9]{40,70}|npg_[A-Za-z0-9]{12,40})"),
    token(
        "databricks-token",
        "a Databricks token",
        &["dapi", "dose"],
        r"^(?:dapi[0-9a-fA-F]{32}(?:-\d)?|dose[0-9a-f]{32})",
    ),
    token("mongodb-atlas-key", "a MongoDB Atlas secret", &["mdb_sa_sk_"], r"^mdb_sa_sk_[\w-]{40}"),
    token("clickhouse-key", "a ClickHouse Cloud key", &["4b1d"], r"^4b1d[A-Za-z0-9]{38}").check(Check::Random),
    token("aiven-token", "an Aiven credential", &["AVNS_"], r"^AVNS_[A-Za-z0-9_-]{15,30}"),
    token("vault-token", "a Vault token", &["hvs.", "hvb.", "hvr."], r"^hv[sbr]\.[\w-]{20,300}"),
    token(
        "vault-legacy-token",
        "a Vault token",
        &["s.", "b.", "r."],
        r"^[sbr]\.[A-Za-z0-9]{24}",
    )
    .check(Check::Random),
    near(
        "terraform-token",
        "a Terraform Cloud token",
        &["atlasv1."],
        (15, 80),
        r"([A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70})",
    ),
    token(
        "doppler-token",
        "a Doppler token",
        &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit.", "dp.said."],
        r"^dp\.(?:pt|st|ct|sa|scim|audit|said)\.[A-Za-z0-9._-]{40,100}",
    ),
    token("pulumi-token", "a Pulumi token", &["pul-"], r"^pul-[0-9a-f]{40}"),
    token(
        "1password-token",
        "a 1Password credential",
        &["ops_eyJ", "A3-"],
        r"^(?:ops_eyJ[A-Za-z0-9+/=_-]{200,1500}|A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3})",
    ),
    token("cockroach-key", "a CockroachDB key", &["CCDB1_"], r"^CCDB1_[A-Za-z0-9]{22}_[A-Za-z0-9]{40}"),
    near(
        "node-address",
        "an address with a project's key",
        &["infura.io/", "alchemy.com/v2/", "alchemyapi.io/v2/", "quiknode.pro/", "ankr.com/"],
        (0, 120),
        r"^(?:infura\.io/(?:ws/)?v3|alchemy(?:api)?\.(?:com|io)/v2|quiknode\.pro|ankr\.com/[a-z_]{2,24})/([A-Za-z0-9_-]{32,64})(?:[^\w-]|$)",
    )
    .check(Check::Random),
    token("tailscale-key", "a Tailscale key", &["tskey-"], r"^tskey-(?:[a-z]+-)?[0-9A-Za-z_]+-[0-9A-Za-z_]{20,60}"),
    near(
        "ngrok-token",
        "an ngrok token",
        &["ngrok", "authtoken"],
        (0, 90),
        r"(?i)(?:ngrok|authtoken)[\w .:='\x22-]{0,30}?\b([12][A-Za-z0-9]{26}_[A-Za-z0-9]{19,22})",
    ),
    token("openshift-token", "an OpenShift token", &["sha256~"], r"^sha256~[A-Za-z0-9_-]{43}").check(Check::Random),
    token("scalingo-token", "a Scalingo token", &["tk-us-"], r"^tk-us-[\w-]{48}"),
    token("ibm-cloud-key", "an IBM Cloud key", &["ApiKey-"], r"^ApiKey-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    token("akamai-secret", "an Akamai token", &["akab-"], r"^akab-[a-z0-9]{16}-[a-z0-9]{16}"),
    token(
        "defined-networking-token",
        "a Defined Networking token",
        &["dnkey-"],
        r"^dnkey-[A-Za-z0-9=_-]{26}-[A-Za-z0-9=_-]{52}",
    ),
    token("linode-token", "a Linode token", &["lin_pat_"], r"^lin_pat_[0-9a-f]{64}"),
    token("upcloud-token", "an UpCloud token", &["ucat_"], r"^ucat_[0-9A-Z]{26}"),
    token(
        "nats-seed",
        "an NKEY seed",
        &["SU", "SA", "SO", "SN", "SC", "SX"],
        r"^S[UAONCX][A-Z2-7]{56}",
    )
    .check(Check::Random),
    token("temporal-key", "a Temporal Cloud key", &["tmprl_"], r"^tmprl_[A-Za-z0-9_]{40,100}"),
];
