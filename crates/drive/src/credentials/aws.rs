//! Credentials of AWS: keys from variables, from the file of a profile or from the container that runs us, by which
//! each request is signed (<https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html>).

use std::{
    collections::BTreeMap,
    net::IpAddr,
    sync::PoisonError,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use aws_sigv4::{
    http_request::{SignableBody, SignableRequest, SigningSettings, sign},
    sign::v4,
};
use reqwest::{
    Method, Request, Url,
    header::{AUTHORIZATION, HeaderName, HeaderValue},
};

use super::{Env, Secret, ask_for, is_safe, read_file};
use crate::http::Client;
use loopwright_base::{
    error::{Error, Failure, FailureKind, Result},
    json::Fields,
};
use loopwright_lexicon::months::days;

/// The address of the agent that gives the containers of ECS their keys.
const CONTAINER_HOST: &str = "http://169.254.170.2";
/// The addresses that keys may be asked from without TLS, beside those of this machine: agents of ECS and EKS.
const CONTAINER_AGENTS: [&str; 3] = ["169.254.170.2", "169.254.170.23", "fd00:ec2::23"];
/// Keys are not used in the last minutes of their time.
const MARGIN: Duration = Duration::from_secs(300);
/// Members of a profile that lead to keys in ways that are not known here.
const OTHER_WAYS: [&str; 4] = ["role_arn", "sso_session", "sso_start_url", "credential_process"];

/// Keys by which requests are signed.
#[derive(Clone)]
struct Keys {
    id: String,
    secret: Secret,
    session: Option<Secret>,
}

impl Keys {
    /// Keys of these texts, if both are there.
    fn of(id: Option<String>, secret: Option<String>, session: Option<String>) -> Option<Self> {
        Some(Self { id: id?, secret: Secret::new(secret?), session: session.map(Secret::new) })
    }
}

/// The source of keys.
enum Source {
    /// They were found.
    Given(Keys),
    /// An address gives them out for a time.
    Container { url: Url, token: ContainerToken },
}

/// The token with which keys are asked for at the agent of a container.
enum ContainerToken {
    None,
    Text(Secret),
    /// A file whose content changes.
    File(String),
}

/// Signs requests for a service in a region.
pub(crate) struct Signer {
    source: Source,
    service: String,
    region: String,
    /// Keys that were given out, and until when they are used. Held while others are asked for.
    lent: tokio::sync::Mutex<Option<(Keys, SystemTime)>>,
    /// Their texts, which must not be seen.
    given: std::sync::Mutex<Vec<Secret>>,
}

/// The path of a file: from its variable, or beneath the home.
fn path(env: Env<'_>, variable: &'static str, name: &str) -> Option<(&'static str, String)> {
    if let Some(path) = env(variable) {
        return Some((variable, path));
    }
    let home = env("HOME").or_else(|| env("USERPROFILE"))?;
    let path = format!("{home}/.aws/{name}");
    std::path::Path::new(&path).is_file().then_some(("~/.aws", path))
}

/// The members of the profile that the environment names, from both files; `None` if it is in neither.
fn profile(env: Env<'_>, name: &str) -> Result<Option<BTreeMap<String, String>>> {
    let files = [("AWS_CONFIG_FILE", "config"), ("AWS_SHARED_CREDENTIALS_FILE", "credentials")];
    let mut found: Option<BTreeMap<String, String>> = None;
    for (variable, file) in files {
        let Some((from, path)) = path(env, variable, file) else { continue };
        if let Some(members) = section(&read_file(from, &path)?, name) {
            found.get_or_insert_default().extend(members);
        }
    }
    Ok(found)
}

/// The members of a profile in a file of sections.
fn section(text: &str, name: &str) -> Option<BTreeMap<String, String>> {
    let mut found = None;
    let mut inside = false;
    for line in text.lines() {
        let is_nested = line.starts_with([' ', '\t']);
        let line = line.trim();
        if let Some(title) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            let title = title.trim();
            let title = title.strip_prefix("profile").filter(|rest| rest.starts_with([' ', '\t'])).unwrap_or(title);
            inside = title.trim() == name;
            if inside {
                found.get_or_insert_with(BTreeMap::new);
            }
        } else if inside
            && !is_nested
            && !line.starts_with(['#', ';'])
            && let (Some(members), Some((key, value))) = (&mut found, line.split_once('='))
        {
            members.insert(key.trim().to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    found
}

fn profile_name(env: Env<'_>) -> Option<String> {
    env("AWS_PROFILE").or_else(|| env("AWS_DEFAULT_PROFILE"))
}

/// The region of the profile.
pub(crate) fn region(env: Env<'_>) -> Option<String> {
    let name = profile_name(env);
    profile(env, name.as_deref().unwrap_or("default")).ok()??.remove("region")
}

/// The source of keys that the environment names: variables, then a profile, then a container.
fn source(env: Env<'_>) -> Result<Option<Source>> {
    let given = Keys::of(env("AWS_ACCESS_KEY_ID"), env("AWS_SECRET_ACCESS_KEY"), env("AWS_SESSION_TOKEN"));
    if let Some(keys) = given {
        return Ok(Some(Source::Given(keys)));
    }
    let named = profile_name(env);
    let name = named.as_deref().unwrap_or("default");
    let members = profile(env, name)?;
    if members.is_none() && named.is_some() {
        return Err(invalid(format!("AWS_PROFILE names the profile {name:?}, which no file has")));
    }
    if let Some(mut members) = members {
        let mut member = |key: &str| members.remove(key).filter(|value| !value.is_empty());
        let keys = Keys::of(member("aws_access_key_id"), member("aws_secret_access_key"), member("aws_session_token"));
        if let Some(keys) = keys {
            return Ok(Some(Source::Given(keys)));
        }
        if let Some(way) = OTHER_WAYS.iter().find(|way| members.contains_key(**way)) {
            let what = format!("the profile {name:?} gets its keys by {way}, which is not known here");
            return Err(Error::usage("invalid_credentials", what)
                .hint("run `aws configure export-credentials --format env` and export what it prints"));
        }
    }
    container(env)
}

fn container(env: Env<'_>) -> Result<Option<Source>> {
    let whole = env("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    let Some(text) =
        env("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI").map(|path| CONTAINER_HOST.to_owned() + &path).or(whole)
    else {
        return Ok(None);
    };
    let is_agent = |url: &Url| {
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        host.parse::<IpAddr>().is_ok_and(|host| CONTAINER_AGENTS.iter().any(|known| known.parse() == Ok(host)))
    };
    let url = Url::parse(&text).ok().filter(|url| is_safe(url) || is_agent(url));
    let url =
        url.ok_or_else(|| invalid(format!("keys are not asked from {text:?}: it is neither https nor an agent's")))?;
    let token = match (env("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"), env("AWS_CONTAINER_AUTHORIZATION_TOKEN")) {
        (Some(path), _) => ContainerToken::File(path),
        (None, Some(text)) => ContainerToken::Text(Secret::new(text)),
        (None, None) => ContainerToken::None,
    };
    Ok(Some(Source::Container { url, token }))
}

fn invalid(what: String) -> Error {
    Error::usage("invalid_credentials", what)
        .hint("export AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a profile that has them")
}

impl Signer {
    /// The signer with the keys that the environment names.
    pub(crate) fn find(env: Env<'_>, service: &str, region: Option<&str>) -> Result<Option<Self>> {
        let Some(source) = source(env)? else { return Ok(None) };
        let region = region.ok_or_else(|| {
            Error::usage("missing_setting", "requests are signed for a region: AWS_REGION is not set")
                .hint("export AWS_REGION=...")
        })?;
        Ok(Some(Self {
            source,
            service: service.to_owned(),
            region: region.to_owned(),
            lent: tokio::sync::Mutex::default(),
            given: std::sync::Mutex::default(),
        }))
    }

    pub(crate) async fn authorize(&self, client: &Client, request: &mut Request) -> Result<(), Failure> {
        let keys = match &self.source {
            Source::Given(keys) => keys.clone(),
            Source::Container { url, token } => {
                let mut lent = self.lent.lock().await;
                match &*lent {
                    Some((keys, until)) if SystemTime::now() < *until => keys.clone(),
                    _ => {
                        let (keys, until) = ask(client, url, token).await?;
                        *self.given.lock().unwrap_or_else(PoisonError::into_inner) =
                            std::iter::once(keys.secret.clone()).chain(keys.session.clone()).collect();
                        *lent = Some((keys.clone(), until));
                        keys
                    }
                }
            }
        };
        self.sign(request, &keys, SystemTime::now())
    }

    /// Adds the signature of version 4 to a request.
    fn sign(&self, request: &mut Request, keys: &Keys, now: SystemTime) -> Result<(), Failure> {
        let wrong = |error: &dyn std::fmt::Display| {
            Failure::new(FailureKind::Internal, format!("a request can't be signed for AWS: {error}"))
        };
        let session = keys.session.as_ref().map(|session| session.reveal().to_owned());
        let identity =
            aws_credential_types::Credentials::new(keys.id.as_str(), keys.secret.reveal(), session, None, "loopwright");
        let identity = identity.into();
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name(&self.service)
            .time(now)
            .settings(SigningSettings::default())
            .build()
            .map_err(|error| wrong(&error))?;
        let body = request.body().and_then(reqwest::Body::as_bytes).unwrap_or_default();
        let kind = request.headers().get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default();
        let signed = [("content-type", kind)].into_iter();
        let method = request.method().as_str();
        let signable = SignableRequest::new(method, request.url().as_str(), signed, SignableBody::Bytes(body))
            .map_err(|error| wrong(&error))?;
        let (instructions, _) = sign(signable, &params.into()).map_err(|error| wrong(&error))?.into_parts();
        let (headers, _) = instructions.into_parts();
        for header in headers {
            let name = HeaderName::try_from(header.name()).map_err(|error| wrong(&error))?;
            let mut value = HeaderValue::from_str(header.value()).map_err(|error| wrong(&error))?;
            value.set_sensitive(true);
            request.headers_mut().insert(name, value);
        }
        Ok(())
    }

    /// Forgets keys that were given out; whether there were any.
    pub(crate) async fn forget(&self) -> bool {
        self.lent.lock().await.take().is_some()
    }

    pub(crate) fn secrets(&self) -> Vec<Secret> {
        match &self.source {
            Source::Given(keys) => std::iter::once(keys.secret.clone()).chain(keys.session.clone()).collect(),
            Source::Container { .. } => self.given.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }
}

/// Asks the agent of a container for keys.
async fn ask(client: &Client, url: &Url, token: &ContainerToken) -> Result<(Keys, SystemTime), Failure> {
    let mut request = Request::new(Method::GET, url.clone());
    let text = match token {
        ContainerToken::None => None,
        ContainerToken::Text(text) => Some(text.reveal().to_owned()),
        ContainerToken::File(path) => Some(
            read_file("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", path)
                .map_err(|error| Failure::new(FailureKind::Usage, error.message))?,
        ),
    };
    if let Some(text) = text {
        let mut value = HeaderValue::from_str(text.trim())
            .map_err(|_| Failure::new(FailureKind::Usage, "the container's token has bytes that no header may have"))?;
        value.set_sensitive(true);
        request.headers_mut().insert(AUTHORIZATION, value);
    }
    let answer = ask_for(client, request, true, "keys of AWS").await?;
    let keys = Keys::of(answer.get_str("AccessKeyId"), answer.get_str("SecretAccessKey"), answer.get_str("Token"))
        .ok_or_else(|| Failure::new(FailureKind::InvalidBody, "the container's agent gave no keys of AWS"))?;
    Ok((keys, until(&answer)))
}

/// The time until which keys are used; without one, they are asked for again soon.
fn until(answer: &Fields) -> SystemTime {
    let end = answer.get_str("Expiration").and_then(|text| instant(&text));
    end.map_or_else(|| SystemTime::now() + MARGIN, |end| end.checked_sub(MARGIN).unwrap_or(UNIX_EPOCH))
}

/// The time that `2026-11-26T20:15:00Z` tells.
fn instant(text: &str) -> Option<SystemTime> {
    let (date, clock) = text.trim().split_once('T')?;
    let clock = clock.trim_end_matches('Z');
    let mut date = date.split('-').map(|part| part.parse::<i64>().ok());
    let mut clock = clock.split(':').map(|part| part.split('.').next()?.parse::<i64>().ok());
    let days = days(date.next()??, date.next()??, date.next()??);
    let seconds = clock.next()?? * 3600 + clock.next()?? * 60 + clock.next()??;
    let all = u64::try_from(days.checked_mul(86_400)?.checked_add(seconds)?).ok()?;
    UNIX_EPOCH.checked_add(Duration::from_secs(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_read_from_both_kinds_of_files() {
        let text = "# c\n[default]\nregion=us-east-1\n\n[profile work]\naws_access_key_id = A\n  nested = x\n; c\n\
            [workshop]\na=b";
        let of = |name: &str| section(text, name);
        assert_eq!(of("default").unwrap()["region"], "us-east-1");
        assert_eq!(of("work").unwrap(), BTreeMap::from([("aws_access_key_id".to_owned(), "A".to_owned())]));
        assert_eq!(of("workshop").unwrap()["a"], "b");
        assert!(of("none").is_none());
    }

    #[test]
    fn times_are_read_as_aws_writes_them() {
        let seconds = |text: &str| instant(text).and_then(|time| Some(time.duration_since(UNIX_EPOCH).ok()?.as_secs()));
        assert_eq!(seconds("1994-11-06T08:49:37Z"), Some(784_111_777));
        assert_eq!(seconds("1994-11-06T08:49:37.123Z"), Some(784_111_777));
        for wrong in ["", "tomorrow", "1994-11-06", "1994-11-06T", "x-1-1T0:0:0Z"] {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }
}
