//! From the signals of a request to a decision: each signal votes, ties are settled by what can be undone.

use super::{Decision, ESCALATE_BELOW, Intent, signals::Seen};

/// Votes nearer than this are a tie.
const TIE: f32 = 0.75;

pub(super) fn decide(seen: Seen, available: &[&str]) -> Intent {
    let s = seen.signals;
    let [mut ask, mut plan, mut split, mut delegate, mut direct] = [0.0_f32; 5];
    direct += 1.0;
    if s.is_ambiguous {
        ask += 6.0;
    }
    if s.is_conversational {
        direct += 4.0;
    }
    if s.is_question {
        direct += 3.0;
    }
    if s.is_destructive && s.is_multi_step {
        plan += 5.0;
    }
    if s.is_destructive && s.is_complex {
        plan += 1.0;
    }
    if seen.changes_code {
        plan += 2.0;
    } else if seen.reports_defect {
        plan += 1.6;
    }
    if s.is_multi_step {
        plan += 1.5;
    }
    if s.is_complex {
        plan += 1.0;
        if s.is_irreversible {
            plan += 1.0;
        }
    }
    if s.is_planning_task {
        plan += 2.0;
    }
    if s.has_independent_parts {
        split += if seen.says_parallel { 5.0 } else { 3.6 };
        if s.is_research {
            split += 1.0;
        }
        if s.is_destructive {
            plan += 3.0;
        }
    }
    if s.is_exploratory {
        delegate += 2.5;
        if s.is_code_task && s.is_complex {
            delegate += 2.0;
        }
    }
    if s.is_research {
        delegate += 2.2;
    }
    let mut decision = best(&[ask, plan, split, delegate, direct]);
    // Ties between a plan and handing on go by what can be undone.
    if matches!(decision, Decision::PlanWithRollback | Decision::Delegate)
        && delegate > 0.0
        && (plan - delegate).abs() <= TIE
    {
        decision = if s.is_irreversible || s.is_destructive { Decision::PlanWithRollback } else { Decision::Delegate };
    }
    let scores = [ask, plan, split, delegate, direct];
    let mut confidence = confidence(&seen, decision, &scores);
    let mut question = if decision == Decision::AskFirst { seen.question.clone() } else { None };
    let sub_agents = suggest(&seen, decision, available);
    let mut noted = matches!(decision, Decision::PlanWithRollback);
    // Nobody to hand it to: it is done here, with a plan.
    if matches!(decision, Decision::Delegate | Decision::Parallelize) && available.is_empty() {
        decision = Decision::Direct;
        noted = true;
    }
    let mut escalated = false;
    if decision == Decision::Direct && confidence < ESCALATE_BELOW {
        decision = Decision::AskFirst;
        escalated = true;
        question = Some("I am not sure what you would like to have done. Can you say more?".to_owned());
        confidence = 1.0 - confidence;
    }
    Intent {
        decision,
        confidence,
        signals: s,
        evidence: seen.evidence,
        scores,
        sub_agents,
        question,
        escalated,
        plan: noted,
    }
}

fn best(scores: &[f32; 5]) -> Decision {
    let mut best = (Decision::Direct, f32::MIN);
    for (decision, score) in Decision::ALL.into_iter().zip(scores) {
        if *score > best.1 {
            best = (decision, *score);
        }
    }
    best.0
}

/// How likely the decision is right: from the lead of the winner, as counted on labelled requests.
fn confidence(seen: &Seen, decision: Decision, scores: &[f32; 5]) -> f32 {
    let own = Decision::ALL.iter().zip(scores).find(|(one, _)| **one == decision).map_or(0.0, |(_, score)| *score);
    let next = Decision::ALL
        .iter()
        .zip(scores)
        .filter(|(one, _)| **one != decision)
        .map(|(_, score)| *score)
        .fold(0.0, f32::max);
    let lead = (own - next).clamp(-1.0, 4.0);
    let nothing =
        decision == Decision::Direct && seen.acts == 0 && !seen.signals.is_question && !seen.signals.is_conversational;
    if nothing && !seen.foreign {
        // A fragment or a remark: one word says too little to begin with.
        return match seen.content {
            0 | 1 => 0.3,
            2 => 0.5,
            _ => 0.75,
        };
    }
    let x = 1.7 + 0.45 * lead;
    1.0 / (1.0 + (-x).exp())
}

fn suggest(seen: &Seen, decision: Decision, available: &[&str]) -> Vec<String> {
    let s = seen.signals;
    let mut wanted: Vec<&str> = Vec::new();
    match decision {
        Decision::Delegate => {
            if s.is_exploratory {
                wanted.push("explore");
            }
            if seen.changes_code {
                wanted.push("code");
            }
            if s.is_research {
                wanted.push("research");
            }
        }
        Decision::Parallelize => {
            if s.is_research {
                wanted.push("research");
            }
            if s.is_exploratory {
                wanted.push("explore");
            }
            if seen.changes_code {
                wanted.push("code");
            }
        }
        Decision::PlanWithRollback if s.is_multi_step || s.is_destructive || s.is_planning_task || s.is_complex => {
            wanted.push("plan");
        }
        _ => {}
    }
    wanted.retain(|kind| available.contains(kind));
    wanted.truncate(3);
    wanted.into_iter().map(str::to_owned).collect()
}
