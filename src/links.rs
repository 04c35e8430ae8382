//! Which paths of a call are symbolic links, looked up on the disk for the guard, which looks nothing up itself.

use std::{collections::HashMap, fs, path::Path};

use loopwright_guard::{
    Authority, Declared, GuardConfig, Links, judge, judge_led, leads_to, named_paths, policy::Surroundings,
};
use serde_json::{Value, json};

/// Links that are followed for one call.
const MOST_LINKS: usize = 256;

/// What the guard says of what a call reaches, the links, and whether that is stricter than what it says of the call
/// itself, as JSON; nothing where no path of the call is a link.
pub(super) fn judged(
    guard: &GuardConfig,
    declared: Declared,
    name: &str,
    input: &Value,
    variables: &HashMap<String, String>,
) -> Option<String> {
    let paths = named_paths(name, input, &guard.around);
    if paths.is_empty() {
        return None;
    }
    let links = look_up(&paths, variables, &guard.around);
    if links.is_empty() {
        return None;
    }
    // What the person asked for has been looked at, and says nothing of where links lead.
    let nobody = Authority::default();
    let plain = judge(guard, &nobody, name, input, declared);
    let led = judge_led(guard, &nobody, name, input, declared, &links);
    let stricter = led.verdict > plain.verdict || led.risk > plain.risk && led.asks();
    let leads = leads_to(name, input, &guard.around, &links)?;
    Some(json!({"judged": led, "links": links, "leads": leads, "stricter": stricter}).to_string())
}

/// The links among absolute paths, and the variables, each with where it leads. What leads into the workspace or the
/// home folder is told under the name that these have here, which may hold
/// links itself.
fn look_up(paths: &[String], variables: &HashMap<String, String>, around: &Surroundings) -> Links {
    let named = [&around.workspace, &around.home].into_iter().flatten();
    let roots: Vec<(String, String)> = named
        .map(|root| root.trim_end_matches('/').to_owned())
        .filter(|root| !root.is_empty())
        .map(|root| (fs::canonicalize(&root).map_or_else(|_| root.clone(), |real| text(&real)), root))
        .collect();
    let mut links = Links::new();
    for path in paths {
        let mut path = path.clone();
        if let Some(named) = path.strip_prefix("/$") {
            let (name, rest) = named.split_at(named.find('/').unwrap_or(named.len()));
            let Some(value) = variables.get(name).filter(|value| value.starts_with('/')) else { continue };
            links.insert(format!("/${name}"), value.clone());
            path = format!("{value}{rest}");
        }
        let path = path.as_str();
        let root = roots.iter().map(|(_, root)| root).find(|root| below(path, root).is_some());
        let (mut at, rest) =
            root.map_or((String::new(), path), |root| (root.clone(), below(path, root).unwrap_or_default()));
        for part in rest.split('/') {
            match part {
                "" | "." => {}
                ".." => at.truncate(at.rfind('/').unwrap_or_default()),
                part => {
                    let top = at.is_empty();
                    at = format!("{at}/{part}");
                    // Links of the system's own, as `/bin`, lead nowhere else than their names say.
                    if top || roots.iter().any(|(_, root)| *root == at) {
                        continue;
                    }
                    let Ok(found) = fs::symlink_metadata(&at) else { break };
                    if !found.is_symlink() {
                        continue;
                    }
                    let Some(real) = target(&at) else { break };
                    let home =
                        roots.iter().find_map(|(real_root, root)| Some(format!("{root}{}", below(&real, real_root)?)));
                    let real = home.unwrap_or(real);
                    if links.len() >= MOST_LINKS {
                        return links;
                    }
                    links.insert(at, real.clone());
                    at = real;
                }
            }
        }
    }
    links
}

/// Where a link leads; of one that leads to what is not there, where that would be.
fn target(link: &str) -> Option<String> {
    if let Ok(real) = fs::canonicalize(link) {
        return Some(text(&real));
    }
    let named = fs::read_link(link).ok()?;
    let folder = fs::canonicalize(Path::new(link).parent()?).ok()?;
    let mut at = text(&folder);
    if named.is_absolute() {
        at.clear();
    }
    for part in text(&named).split('/') {
        match part {
            "" | "." => {}
            ".." => at.truncate(at.rfind('/').unwrap_or_default()),
            part => at = format!("{at}/{part}"),
        }
    }
    Some(if at.is_empty() { "/".to_owned() } else { at })
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// What of a path lies below a folder, with its slash; empty for the folder itself.
fn below<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    path.strip_prefix(folder).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}
