//! Accounts of Google Cloud: a file of an account against which a token server gives tokens for a time
//! (<https://developers.google.com/identity/protocols/oauth2/service-account>).

use std::{
    sync::PoisonError,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use reqwest::{
    Method, Request, Url,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue},
};
use ring::{
    rand::SystemRandom,
    rsa::KeyPair,
    signature::{RSA_PKCS1_SHA256, RsaKeyPair},
};
use rustls::pki_types::{PrivateKeyDer, pem::PemObject as _};
use serde::Deserialize;

use super::{Env, Secret, ask_for, is_safe, read_file};
use crate::http::Client;
use loopwright_base::{
    error::{Error, Failure, FailureKind, Result},
    json::Raw,
};

const FILE: &str = "GOOGLE_APPLICATION_CREDENTIALS";
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
const TOKEN_URI: &str = "https://oauth2.googleapis.com/token";
/// How long an assertion holds, in seconds: the longest that is taken.
const ASSERTION: u64 = 3600;
/// A token is not used in the last seconds of its time.
const MARGIN: Duration = Duration::from_secs(60);

/// A file of an account, as Google writes it.
#[derive(Deserialize)]
struct AccountFile {
    r#type: String,
    project_id: Option<String>,
    quota_project_id: Option<String>,
    client_email: Option<String>,
    private_key: Option<String>,
    private_key_id: Option<String>,
    client_id: Option<String>,
    client_secret: Option<String>,
    refresh_token: Option<String>,
    token_uri: Option<String>,
}

/// The proof against which Google gives out tokens.
enum Grant {
    /// An assertion that a service's account signs.
    Service { email: String, key_id: Option<String>, key: Box<RsaKeyPair> },
    /// The refresh token that `gcloud auth application-default login` has left.
    Person { client_id: String, client_secret: String, refresh_token: String },
}

/// A token, and until when it is used.
struct Token {
    text: Secret,
    until: Instant,
}

/// An account, with the token that it was given last.
pub(crate) struct Account {
    grant: Grant,
    token_uri: Url,
    /// Held while a token is asked for, so that all who wait get the same.
    token: tokio::sync::Mutex<Option<Token>>,
    /// The tokens of this process, which must not be seen.
    given: std::sync::Mutex<Option<Secret>>,
}

/// The file that the environment names, or that `gcloud` has left; what names it, and its path.
fn path(env: Env<'_>) -> Option<(&'static str, String)> {
    if let Some(path) = env(FILE) {
        return Some((FILE, path));
    }
    let folder = env("CLOUDSDK_CONFIG")
        .or_else(|| env("APPDATA").map(|folder| folder + "/gcloud"))
        .or_else(|| env("HOME").map(|home| home + "/.config/gcloud"))?;
    let path = folder + "/application_default_credentials.json";
    std::path::Path::new(&path).is_file().then_some(("gcloud", path))
}

fn read(env: Env<'_>) -> Result<Option<(String, AccountFile)>> {
    let Some((from, path)) = path(env) else { return Ok(None) };
    let text = read_file(from, &path)?;
    let place = format!("{path:?}, which {from} names,");
    // The reader's own words could quote the key.
    let file = serde_json::from_str(&text).map_err(|_| invalid(&place, "is no account's file of JSON"))?;
    Ok(Some((place, file)))
}

fn invalid(place: &str, why: &str) -> Error {
    Error::usage("invalid_credentials", format!("{place} {why}"))
        .hint("give the key file of a service account, or what `gcloud auth application-default login` writes")
}

/// The project of the account.
pub(crate) fn project(env: Env<'_>) -> Option<String> {
    let (_, file) = read(env).ok()??;
    file.project_id.or(file.quota_project_id)
}

impl Account {
    /// The account that the environment names.
    pub(crate) fn find(env: Env<'_>) -> Result<Option<Self>> {
        let Some((place, file)) = read(env)? else { return Ok(None) };
        let lacks = |name: &str| invalid(&place, &format!("has no {name}"));
        let grant = match file.r#type.as_str() {
            "service_account" => {
                let pem = file.private_key.ok_or_else(|| lacks("private_key"))?;
                let key = rsa_key(&pem).ok_or_else(|| invalid(&place, "has a private_key that is no RSA key"))?;
                let email = file.client_email.ok_or_else(|| lacks("client_email"))?;
                Grant::Service { email, key_id: file.private_key_id, key: Box::new(key) }
            }
            "authorized_user" => Grant::Person {
                client_id: file.client_id.ok_or_else(|| lacks("client_id"))?,
                client_secret: file.client_secret.ok_or_else(|| lacks("client_secret"))?,
                refresh_token: file.refresh_token.ok_or_else(|| lacks("refresh_token"))?,
            },
            other => {
                return Err(invalid(&place, &format!("is of an account of type {other:?}, which is not known here")));
            }
        };
        let uri = file.token_uri.as_deref().unwrap_or(TOKEN_URI);
        let token_uri = Url::parse(uri).ok().filter(is_safe);
        let token_uri = token_uri.ok_or_else(|| invalid(&place, "has a token_uri that is no address by https"))?;
        Ok(Some(Self { grant, token_uri, token: tokio::sync::Mutex::default(), given: std::sync::Mutex::default() }))
    }

    pub(crate) async fn authorize(&self, client: &Client, request: &mut Request) -> Result<(), Failure> {
        let mut token = self.token.lock().await;
        if token.as_ref().is_none_or(|token| token.until <= Instant::now()) {
            *token = Some(self.ask(client).await?);
        }
        let Some(token) = &*token else { return Ok(()) };
        let mut value = HeaderValue::from_str(&format!("Bearer {}", token.text.reveal())).map_err(|_| unusable())?;
        value.set_sensitive(true);
        request.headers_mut().insert(AUTHORIZATION, value);
        Ok(())
    }

    async fn ask(&self, client: &Client) -> Result<Token, Failure> {
        let mut request = Request::new(Method::POST, self.token_uri.clone());
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        *request.body_mut() = Some(self.form()?.into());
        let answer = ask_for(client, request, false, "a token of Google Cloud").await.map_err(|failure| {
            let refused = failure.kind == FailureKind::Auth;
            if refused {
                failure.hint(format!("check the account's file ({FILE}) and that its key is valid"))
            } else {
                failure
            }
        })?;
        let text = answer.get_str("access_token").filter(|text| !text.is_empty()).ok_or_else(unusable)?;
        let seconds = answer.get("expires_in").and_then(|raw| raw.to::<u64>().ok()).unwrap_or(ASSERTION);
        let time = Duration::from_secs(seconds.min(7 * 24 * ASSERTION));
        let until = Instant::now() + time.saturating_sub(MARGIN.min(time / 2));
        let text = Secret::new(text);
        *self.given.lock().unwrap_or_else(PoisonError::into_inner) = Some(text.clone());
        Ok(Token { text, until })
    }

    /// The body of a request for a token.
    fn form(&self) -> Result<String, Failure> {
        // A URL's query is written as a form is.
        let mut form = Url::parse("form:").map_err(|_| unusable())?;
        let mut pairs = form.query_pairs_mut();
        match &self.grant {
            Grant::Service { email, key_id, key } => {
                let assertion = assertion(email, key_id.as_deref(), key, self.token_uri.as_str())
                    .ok_or_else(|| Failure::new(FailureKind::Internal, "an assertion can't be signed"))?;
                pairs.append_pair("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer");
                pairs.append_pair("assertion", &assertion);
            }
            Grant::Person { client_id, client_secret, refresh_token } => {
                pairs.append_pair("grant_type", "refresh_token");
                pairs.append_pair("client_id", client_id);
                pairs.append_pair("client_secret", client_secret);
                pairs.append_pair("refresh_token", refresh_token);
            }
        }
        drop(pairs);
        Ok(form.query().unwrap_or_default().to_owned())
    }

    /// Forgets the token; whether there was one.
    pub(crate) async fn forget(&self) -> bool {
        self.token.lock().await.take().is_some()
    }

    pub(crate) fn secrets(&self) -> Vec<Secret> {
        let given = self.given.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let own = match &self.grant {
            Grant::Service { .. } => Vec::new(),
            Grant::Person { client_secret, refresh_token, .. } => {
                vec![Secret::new(client_secret.as_str()), Secret::new(refresh_token.as_str())]
            }
        };
        own.into_iter().chain(given).collect()
    }
}

fn unusable() -> Failure {
    Failure::new(FailureKind::InvalidBody, "the token server gave no token that can be used")
}

fn rsa_key(pem: &str) -> Option<RsaKeyPair> {
    match PrivateKeyDer::from_pem_slice(pem.as_bytes()).ok()? {
        PrivateKeyDer::Pkcs8(key) => RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()).ok(),
        PrivateKeyDer::Pkcs1(key) => RsaKeyPair::from_der(key.secret_pkcs1_der()).ok(),
        _ => None,
    }
}

/// A JSON web token by which the account asks for a token (RFC 7523), signed by RS256.
fn assertion(email: &str, key_id: Option<&str>, key: &KeyPair, audience: &str) -> Option<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
    let mut header = serde_json::json!({"alg": "RS256", "typ": "JWT"});
    if let Some(id) = key_id {
        header["kid"] = id.into();
    }
    let claims = serde_json::json!({"iss": email, "scope": SCOPE, "aud": audience, "iat": now, "exp": now + ASSERTION});
    let part = |value: &serde_json::Value| URL_SAFE_NO_PAD.encode(Raw::of(value).text());
    let signed = format!("{}.{}", part(&header), part(&claims));
    let mut signature = vec![0; key.public().modulus_len()];
    key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature).ok()?;
    Some(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(&signature)))
}
