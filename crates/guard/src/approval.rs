//! Questions to a person that are open, and the yeses that are kept.
//!
//! A request lives until its deadline; silence is a no for that call, and the request stays listed as expired. A yes
//! can be kept for its session for a while, under the call's shape and up to its risk; what that means is told in words
//! before it is kept. Never kept: a no, a yes to a dangerous call, a yes to what holds a secret. Who asks says what
//! time it is.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use serde_json::Value;

use super::{
    RiskLevel,
    disguise::disguise,
    links::Links,
    policy::{Subject, Surroundings},
    shape::shape_of,
};
use loopwright_base::error::{Error, Result};

/// Requests that are open, that stay listed, and yeses that are kept.
const MOST_PENDING: usize = 10_000;
const MOST_EXPIRED: usize = 200;
const MOST_KEPT: usize = 2_000;

/// A call that waits for a person.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Question {
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub input: Value,
    /// What binds a decision to this very call, where there is such a hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// How much harm it may do.
    pub risk: RiskLevel,
    /// Whether it holds a secret.
    pub secret: bool,
    /// Why it is asked.
    pub why: String,
}

/// Where a request stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Somebody may still decide.
    Pending,
    /// The time is over; the call was denied. It can be asked for again.
    Expired,
}

/// A request, for lists.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Request {
    /// Its number.
    pub id: u64,
    /// The call.
    #[serde(flatten)]
    pub question: Question,
    /// When it was asked, and until when somebody may decide.
    pub asked: f64,
    /// See `asked`.
    pub deadline: f64,
    /// Where it stands.
    pub standing: Standing,
    /// What a yes would be kept for, in words; `None` if it is for this call alone.
    pub keeps: Option<String>,
}

struct Open {
    request: Request,
    key: Option<String>,
}

/// A yes that is kept.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Kept {
    /// What for, in words.
    pub words: String,
    /// The highest risk that it answers for.
    pub ceiling: RiskLevel,
    /// Until when.
    pub until: f64,
}

/// What comes of asking.
#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    /// A yes was kept: what for.
    Remembered(String),
    /// A person has to decide about the request of this number.
    Pending(u64),
}

/// What somebody says.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// It may run; `keep` for other calls of its shape, too.
    Allow {
        /// Whether the yes is kept, if it can be.
        keep: bool,
    },
    /// It may not run.
    Deny,
    /// It may not run as it is; another call is made of it, which is asked about anew.
    Edit,
}

/// What came of a decision.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Settled {
    /// The request as it was.
    pub request: Request,
    /// What the yes is kept for, if it is.
    pub kept: Option<String>,
}

/// Open requests and kept decisions of a session.
pub struct Approvals {
    session: String,
    timeout: f64,
    ttl: f64,
    around: Surroundings,
    links: Links,
    next: u64,
    open: BTreeMap<u64, Open>,
    expired: BTreeMap<u64, Open>,
    kept: HashMap<String, Kept>,
}

impl Approvals {
    /// No requests. `timeout` is what a person has to decide, `ttl` how long a yes is kept, both in seconds.
    pub fn new(session: &str, timeout: f64, ttl: f64, around: Surroundings) -> Result<Self> {
        for (name, seconds) in [("timeout", timeout), ("ttl", ttl)] {
            if !seconds.is_finite() || !(0.0..=1e9).contains(&seconds) {
                return Err(Error::usage("invalid_number", format!("{name} is {seconds}"))
                    .hint("give a finite number of seconds from 0 up"));
            }
        }
        Ok(Self {
            session: session.to_owned(),
            timeout,
            ttl,
            around,
            links: Links::new(),
            next: 0,
            open: BTreeMap::new(),
            expired: BTreeMap::new(),
            kept: HashMap::new(),
        })
    }

    /// Where the calls of the session run.
    pub fn set_surroundings(&mut self, around: Surroundings) {
        self.around = around;
    }

    /// Which of the paths of the next call are links.
    pub fn set_links(&mut self, links: Links) {
        self.links = links;
    }

    /// Asks about a call: a yes that was kept answers at once, else the request is open until its deadline.
    pub fn ask(&mut self, question: Question, now: f64, timeout: Option<f64>) -> Result<Asked> {
        self.expire(now);
        let mut subject = Subject::new(&question.tool, &question.input, &self.around);
        subject.follow(&self.links, &self.around);
        let lasting = question.risk < RiskLevel::Dangerous && !question.secret && self.ttl > 0.0;
        let shape = if lasting { shape_of(&subject, &self.around) } else { None };
        let key = shape.as_ref().map(|shape| self.key(&shape.key));
        if let Some(kept) = key.as_ref().and_then(|key| self.kept.get(key))
            && kept.until > now
            && question.risk <= kept.ceiling
        {
            return Ok(Asked::Remembered(kept.words.clone()));
        }
        if self.open.len() >= MOST_PENDING {
            return Err(Error::usage("too_many_approvals", format!("{MOST_PENDING} requests are open"))
                .hint("decide about some of them, or withdraw them"));
        }
        self.next += 1;
        let keeps = shape.map(|shape| self.words(&shape.words, question.risk));
        let seconds = timeout.filter(|seconds| seconds.is_finite()).unwrap_or(self.timeout).max(0.0);
        let request = Request {
            id: self.next,
            question,
            asked: now,
            deadline: now + seconds,
            standing: Standing::Pending,
            keeps,
        };
        self.open.insert(self.next, Open { request, key });
        Ok(Asked::Pending(self.next))
    }

    /// Decides about a request. A decision for a request that is gone is an error, and nothing runs.
    pub fn decide(&mut self, id: u64, answer: &Answer, hash: Option<&str>, now: f64) -> Result<Settled> {
        self.expire(now);
        let Some(open) = self.open.get(&id) else { return Err(self.gone(id)) };
        if let (Some(given), Some(asked)) = (hash, &open.request.question.hash)
            && given != asked
        {
            return Err(Error::usage(
                "approval_changed",
                format!("the decision about request {id} names another call"),
            )
            .hint("look at the request again, and decide about what it shows"));
        }
        let Some(Open { request, key }) = self.open.remove(&id) else { return Err(self.gone(id)) };
        let keep = matches!(answer, Answer::Allow { keep: true });
        let kept = key.filter(|_| keep).and_then(|key| self.keep(key, &request, now));
        Ok(Settled { request, kept })
    }

    /// What a yes to a request would be kept for, in words.
    pub fn describe(&self, id: u64) -> Result<String> {
        let open = self.open.get(&id).or_else(|| self.expired.get(&id));
        let Some(Open { request, .. }) = open else { return Err(self.gone(id)) };
        Ok(match (&request.keeps, request.question.risk, request.question.secret) {
            (Some(words), _, _) => words.clone(),
            (None, RiskLevel::Dangerous, _) => "A yes is for this call alone: it is dangerous.".to_owned(),
            (None, _, true) => "A yes is for this call alone: it holds a secret.".to_owned(),
            _ => {
                let subject = Subject::new(&request.question.tool, &request.question.input, &self.around);
                let reason = match disguise(&subject) {
                    Some(_) => "it holds something that can't be seen or looks like something else",
                    None => "what it does can't be told from its text",
                };
                format!("A yes is for this call alone: {reason}.")
            }
        })
    }

    /// Closes what nobody has decided in time; gives the numbers.
    pub fn expire(&mut self, now: f64) -> Vec<u64> {
        let over: Vec<u64> =
            self.open.iter().filter(|(_, open)| open.request.deadline <= now).map(|(id, _)| *id).collect();
        for id in &over {
            self.lapse(*id);
        }
        self.kept.retain(|_, kept| kept.until > now);
        over
    }

    /// The time of one request is over, whoever said so.
    pub fn lapse(&mut self, id: u64) {
        if let Some(mut open) = self.open.remove(&id) {
            open.request.standing = Standing::Expired;
            self.expired.insert(id, open);
            while self.expired.len() > MOST_EXPIRED {
                self.expired.pop_first();
            }
        }
    }

    /// Takes a request back: its run has ended. Nothing is listed.
    pub fn withdraw(&mut self, id: u64) {
        self.open.remove(&id);
    }

    /// "Run again?" for an expired request: a yes that is kept, so that the same call runs when it comes again.
    pub fn again(&mut self, id: u64, now: f64) -> Result<String> {
        let Some(Open { request, key }) = self.expired.remove(&id) else {
            return Err(if self.open.contains_key(&id) {
                Error::usage("approval_pending", format!("request {id} is still open")).hint("decide about it")
            } else {
                self.gone(id)
            });
        };
        let kept = key.clone().and_then(|key| self.keep(key, &request, now));
        if kept.is_none() {
            self.expired.insert(id, Open { request, key });
        }
        kept.ok_or_else(|| {
            Error::usage("approval_not_kept", format!("a yes to request {id} is for one call alone"))
                .hint("let the model try again, and decide in time")
        })
    }

    /// Requests that are open, and those that have expired, in the order of their numbers.
    pub fn requests(&mut self, now: f64) -> Vec<Request> {
        self.expire(now);
        let mut all: Vec<Request> =
            self.open.values().chain(self.expired.values()).map(|open| open.request.clone()).collect();
        all.sort_by_key(|request| request.id);
        all
    }

    /// The yeses that are kept.
    pub fn kept(&mut self, now: f64) -> Vec<Kept> {
        self.expire(now);
        let mut kept: Vec<Kept> = self.kept.values().cloned().collect();
        kept.sort_by(|a, b| a.until.total_cmp(&b.until).then_with(|| a.words.cmp(&b.words)));
        kept
    }

    /// Forgets every yes.
    pub fn forget(&mut self) {
        self.kept.clear();
    }

    fn key(&self, shape: &str) -> String {
        format!("{}\u{0}{shape}", self.session)
    }

    fn words(&self, shape: &str, ceiling: RiskLevel) -> String {
        let time = match self.ttl {
            ttl if (ttl - 3600.0).abs() < 1.0 => "one hour".to_owned(),
            ttl if ttl >= 120.0 => format!("{:.0} minutes", ttl / 60.0),
            ttl => format!("{ttl:.0} seconds"),
        };
        format!("For {time} of this session no more questions about {shape}, up to risk {}.", ceiling.name())
    }

    fn keep(&mut self, key: String, request: &Request, now: f64) -> Option<String> {
        let words = request.keeps.clone()?;
        if self.kept.len() >= MOST_KEPT
            && let Some(first) =
                self.kept.iter().min_by(|a, b| a.1.until.total_cmp(&b.1.until)).map(|(key, _)| key.clone())
        {
            self.kept.remove(&first);
        }
        let kept = Kept { words: words.clone(), ceiling: request.question.risk, until: now + self.ttl };
        self.kept.insert(key, kept);
        Some(words)
    }

    fn gone(&self, id: u64) -> Error {
        if self.expired.contains_key(&id) {
            return Error::usage("approval_expired", format!("the time for request {id} is over; the call was denied"))
                .hint("say again(id) to let the same call run when it comes again");
        }
        let message = if id > 0 && id <= self.next {
            format!("request {id} is gone: it was decided or taken back")
        } else {
            format!("there is no request {id}")
        };
        Error::usage("approval_gone", message).hint("the requests that are open are listed in pending")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn approvals() -> Approvals {
        Approvals::new("s", 60.0, 3_600.0, Surroundings::of_examples()).unwrap()
    }

    fn shell(line: &str, risk: RiskLevel) -> Question {
        let input = json!({"command": line});
        Question { tool: "shell".into(), input, hash: None, risk, secret: false, why: String::new() }
    }

    fn pending(asked: &Asked) -> u64 {
        match asked {
            Asked::Pending(id) => *id,
            Asked::Remembered(words) => panic!("{words}"),
        }
    }

    const KEEP: Answer = Answer::Allow { keep: true };

    fn says_yes(approvals: &mut Approvals, line: &str, risk: RiskLevel) -> Option<String> {
        let id = pending(&approvals.ask(shell(line, risk), 0.0, None).unwrap());
        approvals.decide(id, &KEEP, None, 1.0).unwrap().kept
    }

    fn remembers(approvals: &mut Approvals, line: &str, risk: RiskLevel, now: f64) -> bool {
        matches!(approvals.ask(shell(line, risk), now, None).unwrap(), Asked::Remembered(_))
    }

    #[test]
    fn d16_x10_a_yes_is_kept_for_calls_of_its_shape() {
        let mut approvals = approvals();
        let words = says_yes(&mut approvals, "git push -u origin main", RiskLevel::Confirm).unwrap();
        assert!(
            words.contains("`git push` with -u") && words.contains("one hour") && words.contains("confirm"),
            "{words}"
        );
        for (line, risk, wanted) in [
            ("git push -u origin other", RiskLevel::Confirm, true),
            ("git   push 'origin' x -u", RiskLevel::Cautious, true),
            ("git push -u origin main", RiskLevel::Dangerous, false),
            ("git push -u -f origin main", RiskLevel::Confirm, false),
            ("git push", RiskLevel::Confirm, false),
            ("git pull -u origin main", RiskLevel::Confirm, false),
            ("git push -u origin main; rm x", RiskLevel::Confirm, false),
            ("git push -u origin $BRANCH", RiskLevel::Confirm, false),
            ("./git push -u origin main", RiskLevel::Confirm, false),
            ("A=b git push -u origin main", RiskLevel::Confirm, false),
        ] {
            assert_eq!(remembers(&mut approvals, line, risk, 2.0), wanted, "{line}");
        }
        let mut other = Approvals::new("t", 60.0, 3_600.0, Surroundings::of_examples()).unwrap();
        assert!(!remembers(&mut other, "git push -u origin main", RiskLevel::Confirm, 2.0), "another session");
    }

    #[test]
    fn x10_kinds_of_places_and_hosts_are_of_the_shape() {
        let mut approvals = approvals();
        says_yes(&mut approvals, "rm -r build", RiskLevel::Confirm).unwrap();
        says_yes(&mut approvals, "curl https://a.org/x -o f.txt", RiskLevel::Confirm).unwrap();
        says_yes(&mut approvals, "python3 -c 'print(1)'", RiskLevel::Confirm).unwrap();
        for (line, wanted) in [
            ("rm -r target/debug", true),
            ("rm -r *", false),
            ("rm -r /etc/x", false),
            ("rm -r ~/.ssh", false),
            ("rm -r ../other", false),
            ("rm -r build > log.txt", false),
            ("curl https://a.org/y -o g.txt", true),
            ("curl https://b.org/y -o g.txt", false),
            ("curl https://a.org/y -o ~/.bashrc", false),
            ("python3 -c 'print(1)'", true),
            ("python3 -c 'print(2)'", false),
        ] {
            assert_eq!(remembers(&mut approvals, line, RiskLevel::Confirm, 2.0), wanted, "{line}");
        }
    }

    #[test]
    fn x10_tools_without_lines_have_shapes() {
        let mut approvals = approvals();
        let question = |input: serde_json::Value| Question {
            tool: "send".into(),
            input,
            hash: None,
            risk: RiskLevel::Confirm,
            secret: false,
            why: String::new(),
        };
        let long = "x ".repeat(100);
        let first = question(json!({"to": "ann@x.org", "body": long, "file": "a.txt"}));
        let id = pending(&approvals.ask(first, 0.0, None).unwrap());
        approvals.decide(id, &KEEP, None, 0.0).unwrap();
        let mut kept = |input| matches!(approvals.ask(question(input), 1.0, None).unwrap(), Asked::Remembered(_));
        let other = "y ".repeat(200);
        assert!(kept(json!({"to": "ann@x.org", "body": other, "file": "b/c.txt"})));
        assert!(!kept(json!({"to": "bob@x.org", "body": other, "file": "b.txt"})));
        assert!(!kept(json!({"to": "ann@x.org", "body": other, "file": "/etc/passwd"})));
        assert!(!kept(json!({"to": "ann@x.org", "body": other, "file": "b.txt", "force": true})));
    }

    #[test]
    fn x10_what_is_told_of_a_yes_is_what_is_kept() {
        let lines = [
            "git push",
            "git push -u origin main",
            "git push -u",
            "git push origin",
            "echo a",
            "echo",
            "echo a/b",
            "echo a/b c",
            "echo -n a",
            "deploy a",
            "deploy a > b",
            "deploy a > /etc/b",
            "rm a",
            "rm *",
            "rm a *",
            "rm ../a",
            "rm a ../a",
            "curl https://a.example",
            "curl https://b.example",
            "curl https://a.example -o a",
            "A=b deploy a",
            "A=c deploy a",
            "make x",
            "make y",
            "git push; deploy a",
            "deploy a; git push",
            "ls",
            "ls a",
            "kubectl get pods",
            "kubectl get nodes",
            "sudo deploy a",
            "sudo deploy b",
            "./deploy a",
            "./deploy b",
            "cd src && rm a",
            "cd .. && rm a",
        ];
        let shape = |tool: &str, input: &Value| {
            let around = Surroundings::of_examples();
            shape_of(&Subject::new(tool, input, &around), &around).map(|shape| (shape.words, shape.key))
        };
        let calls = lines.iter().flat_map(|line| ["shell", "bash"].map(|tool| (tool, json!({ "command": line }))));
        let others =
            [json!({}), json!({"a": 1}), json!({"a": "x"}), json!({"a": "x/y"}), json!({"a": "../y"}), json!({"b": 1})];
        let calls = calls.chain(others.into_iter().map(|input| ("send", input)));
        let mut told: HashMap<String, String> = HashMap::new();
        for (tool, input) in calls {
            let Some((words, key)) = shape(tool, &input) else { continue };
            let before = told.entry(words.clone()).or_insert_with(|| key.clone());
            assert_eq!(*before, key, "{words}: {tool} {input}");
        }
        assert!(told.len() > 40, "{}", told.len());
    }

    #[test]
    fn x10_a_yes_is_kept_for_where_links_lead() {
        let mut approvals = approvals();
        says_yes(&mut approvals, "rm -r build", RiskLevel::Confirm).unwrap();
        assert!(remembers(&mut approvals, "rm -r out", RiskLevel::Confirm, 2.0));
        approvals.set_links(Links::from([("/home/user/project/out".to_owned(), "/srv/data".to_owned())]));
        assert!(!remembers(&mut approvals, "rm -r out", RiskLevel::Confirm, 2.0));
    }

    #[test]
    fn g10_a_yes_to_what_can_not_be_seen_is_for_that_call_alone() {
        let mut approvals = approvals();
        says_yes(&mut approvals, "rm -r build", RiskLevel::Confirm).unwrap();
        assert!(remembers(&mut approvals, "rm -r target", RiskLevel::Confirm, 2.0));
        for line in ["rm -r bui\u{202e}ld", "rm -r t\u{430}rget", "rm -r a\u{a0}b"] {
            assert!(!remembers(&mut approvals, line, RiskLevel::Confirm, 2.0), "{line}");
            assert_eq!(says_yes(&mut approvals, line, RiskLevel::Confirm), None, "{line}");
        }
        let id = pending(&approvals.ask(shell("rm -r a\u{a0}b", RiskLevel::Confirm), 2.0, None).unwrap());
        assert!(approvals.describe(id).unwrap().contains("can't be seen"));
    }

    #[test]
    fn d15_x09_silence_is_a_no_and_stays_listed() {
        let mut approvals = approvals();
        let id = pending(&approvals.ask(shell("git push", RiskLevel::Confirm), 0.0, None).unwrap());
        assert_eq!(approvals.requests(59.0)[0].standing, Standing::Pending);
        assert_eq!(approvals.expire(60.0), [id]);
        assert_eq!(approvals.requests(61.0)[0].standing, Standing::Expired);
        assert_eq!(approvals.decide(id, &KEEP, None, 61.0).unwrap_err().code, "approval_expired");
        assert!(!remembers(&mut approvals, "git push", RiskLevel::Confirm, 62.0));
        approvals.again(id, 63.0).unwrap();
        assert!(remembers(&mut approvals, "git push", RiskLevel::Confirm, 64.0));
        assert_eq!(approvals.again(id, 65.0).unwrap_err().code, "approval_gone");
    }

    #[test]
    fn d16_kept_yeses_end() {
        let mut approvals = approvals();
        says_yes(&mut approvals, "git push", RiskLevel::Confirm).unwrap();
        assert!(remembers(&mut approvals, "git push", RiskLevel::Confirm, 3_600.0));
        assert!(!remembers(&mut approvals, "git push", RiskLevel::Confirm, 3_601.0));
        assert_eq!(approvals.kept(3_602.0), []);
    }

    #[test]
    fn c16_x10_what_is_never_kept() {
        let mut approvals = approvals();
        assert_eq!(says_yes(&mut approvals, "git push -f", RiskLevel::Dangerous), None);
        assert!(!remembers(&mut approvals, "git push -f", RiskLevel::Dangerous, 2.0));
        let secret = Question { secret: true, ..shell("git push", RiskLevel::Confirm) };
        let id = pending(&approvals.ask(secret.clone(), 0.0, None).unwrap());
        assert!(approvals.describe(id).unwrap().contains("secret"));
        assert_eq!(approvals.decide(id, &KEEP, None, 0.0).unwrap().kept, None);
        assert!(matches!(approvals.ask(secret, 1.0, None).unwrap(), Asked::Pending(_)));
        let id = pending(&approvals.ask(shell("make x", RiskLevel::Confirm), 1.0, None).unwrap());
        approvals.decide(id, &Answer::Deny, None, 1.0).unwrap();
        assert!(!remembers(&mut approvals, "make x", RiskLevel::Confirm, 2.0), "a no is not kept");
        let id = pending(&approvals.ask(shell("make y", RiskLevel::Confirm), 1.0, None).unwrap());
        approvals.decide(id, &Answer::Allow { keep: false }, None, 1.0).unwrap();
        assert!(!remembers(&mut approvals, "make y", RiskLevel::Confirm, 2.0), "once is once");
    }

    #[test]
    fn x09_decisions_for_what_is_gone_are_errors() {
        let mut approvals = approvals();
        assert_eq!(approvals.decide(7, &KEEP, None, 0.0).unwrap_err().code, "approval_gone");
        let question = Question { hash: Some("h".into()), ..shell("git push", RiskLevel::Confirm) };
        let id = pending(&approvals.ask(question, 0.0, None).unwrap());
        assert_eq!(approvals.decide(id, &KEEP, Some("g"), 0.0).unwrap_err().code, "approval_changed");
        approvals.decide(id, &KEEP, Some("h"), 0.0).unwrap();
        assert_eq!(approvals.decide(id, &KEEP, Some("h"), 0.0).unwrap_err().code, "approval_gone");
        assert_eq!(approvals.describe(id).unwrap_err().code, "approval_gone");
        assert!(Approvals::new("s", f64::NAN, 1.0, Surroundings::default()).is_err());
    }
}
