//! Topics that nobody planned: clusters of what was found, and whether the outline knows them.
//!
//! Vectors are brought to unit length, reduced to their principal components and clustered by k-means from a fixed
//! seed; a cluster whose centre is far from every topic of the outline is new.

use serde::{Deserialize, Serialize};

use super::{Background, Checked, Cut, Rows, background::Random};
use loopwright_base::error::{Error, Result};

/// Directions beyond those asked for, so that the last ones asked for are found exactly too.
const SPARE: usize = 8;
/// Rounds of the power iteration; each one squares the gap between what is kept and what is not.
const ROUNDS: usize = 8;
/// Starts of k-means, of which the tightest counts.
const STARTS: usize = 8;
/// Rounds of one start.
const STEPS: usize = 100;

/// How latent topics are found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LatentPolicy {
    /// Principal components.
    pub components: usize,
    /// Clusters at most; never more than there are chunks.
    pub clusters: usize,
    /// Where k-means starts.
    pub seed: u64,
    /// A cluster is novel where its centre is no nearer than this to any topic.
    pub novel: Cut,
    /// Clusters of fewer chunks are not reported.
    pub least: usize,
    /// What a cut in standard deviations is measured in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background: Option<Background>,
}

impl Default for LatentPolicy {
    fn default() -> Self {
        Self { components: 10, clusters: 8, seed: 42, novel: Cut::Cosine(0.65), least: 1, background: None }
    }
}

/// Chunks that are about the same thing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cluster {
    /// Its chunks, the one nearest to the centre first.
    pub members: Vec<usize>,
    /// The mean direction of its chunks, of unit length.
    pub centre: Vec<f32>,
    /// The topic of the outline that is nearest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topic: Option<usize>,
    /// The cosine of the centre with that topic; 0 without an outline.
    pub similarity: f32,
    /// Whether no topic is near enough.
    pub novel: bool,
}

/// Clusters of `chunks`, the largest first, held against `outline`, which has one vector for each topic.
pub fn latent<C: Rows + ?Sized, O: Rows + ?Sized>(
    chunks: &C,
    outline: &O,
    policy: &LatentPolicy,
) -> Result<Vec<Cluster>> {
    if policy.clusters == 0 || policy.components == 0 || policy.clusters > 1000 || policy.components > 1000 {
        return Err(Error::usage("invalid_value", "clusters and components go from 1 to 1000")
            .hint("give a number in that range"));
    }
    let novel = policy.novel.at(policy.background.as_ref())?;
    let mut width = None;
    let chunks = Checked::new("chunks", chunks, &mut width)?;
    let outline = Checked::new("outline", outline, &mut width)?;
    let (Some(width), true) = (width, chunks.count() > 0) else { return Ok(Vec::new()) };
    let unit = Unit::new(&chunks, width);
    let points = reduce(&unit, policy.components, policy.seed);
    let labels = cluster(&points, policy.clusters.min(chunks.count()), policy.seed);
    let groups = labels.iter().max().map_or(0, |most| most + 1);
    let mut found = Vec::new();
    for group in 0..groups {
        let members: Vec<usize> = (0..labels.len()).filter(|at| labels.get(*at) == Some(&group)).collect();
        if members.len() < policy.least.max(1) {
            continue;
        }
        found.push(describe(&unit, members, &outline, novel));
    }
    found.sort_by_key(|cluster| (std::cmp::Reverse(cluster.members.len()), cluster.members.iter().min().copied()));
    Ok(found)
}

fn describe<O: Rows + ?Sized>(unit: &Unit, mut members: Vec<usize>, outline: &Checked<'_, O>, novel: f32) -> Cluster {
    let mut sum = vec![0.0_f64; unit.width];
    for member in &members {
        for (total, value) in sum.iter_mut().zip(unit.row(*member)) {
            *total += f64::from(*value);
        }
    }
    let long = sum.iter().map(|value| value * value).sum::<f64>().sqrt();
    // Opposite directions cancel out: then the first chunk stands for all.
    let centre: Vec<f32> = if long > 1e-9 {
        sum.iter().map(|value| (value / long) as f32).collect()
    } else {
        members.first().map(|first| unit.row(*first).to_vec()).unwrap_or_default()
    };
    let near: Vec<f32> = members.iter().map(|member| dot(unit.row(*member), &centre)).collect();
    let mut order: Vec<usize> = (0..members.len()).collect();
    let at = |place: usize| near.get(place).copied().unwrap_or(0.0);
    order.sort_by(|one, other| at(*other).total_cmp(&at(*one)));
    members = order.into_iter().filter_map(|place| members.get(place).copied()).collect();
    let nearest = outline.nearest((&centre, 1.0));
    let similarity = nearest.map_or(0.0, |(_, cosine)| cosine);
    let topic = nearest.map(|(topic, _)| topic);
    Cluster { members, novel: topic.is_none() || similarity < novel, centre, topic, similarity }
}

/// Vectors of unit length, one behind the other.
struct Unit {
    values: Vec<f32>,
    width: usize,
}

impl Unit {
    fn new<R: Rows + ?Sized>(rows: &Checked<'_, R>, width: usize) -> Self {
        let mut values = Vec::with_capacity(rows.count().saturating_mul(width));
        for at in 0..rows.count() {
            let (row, length) = rows.row(at);
            values.extend(row.iter().map(|value| (f64::from(*value) / length) as f32));
        }
        Self { values, width }
    }

    fn rows(&self) -> std::slice::ChunksExact<'_, f32> {
        self.values.chunks_exact(self.width.max(1))
    }

    fn row(&self, at: usize) -> &[f32] {
        let start = at.saturating_mul(self.width);
        self.values.get(start..start + self.width).unwrap_or(&[])
    }

    fn mean(&self) -> Vec<f32> {
        let mut sum = vec![0.0_f64; self.width];
        let mut count = 0_usize;
        for row in self.rows() {
            count += 1;
            for (total, value) in sum.iter_mut().zip(row) {
                *total += f64::from(*value);
            }
        }
        sum.into_iter().map(|total| (total / count.max(1) as f64) as f32).collect()
    }
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0_f32; 16];
    let ((whole, rest), (other, other_rest)) = (a.as_chunks::<16>(), b.as_chunks::<16>());
    for (part, facing) in whole.iter().zip(other) {
        for (lane, (x, y)) in lanes.iter_mut().zip(part.iter().zip(facing)) {
            *lane += x * y;
        }
    }
    lanes.iter().sum::<f32>() + rest.iter().zip(other_rest).map(|(x, y)| x * y).sum::<f32>()
}

/// The rows in the coordinates of their principal components: subspace iteration from a fixed start, then an exact
/// rotation within the subspace.
fn reduce(unit: &Unit, components: usize, seed: u64) -> Vec<Vec<f64>> {
    let count = unit.rows().len();
    let keep = components.min(unit.width).min(count);
    let size = (keep + SPARE).min(unit.width);
    let mean = unit.mean();
    let mut random = Random::new(seed);
    let mut axes: Vec<Vec<f32>> =
        (0..size).map(|_| (0..unit.width).map(|_| (random.unit() * 2.0 - 1.0) as f32).collect()).collect();
    orthonormal(&mut axes);
    for _ in 0..ROUNDS {
        let offsets: Vec<f32> = axes.iter().map(|axis| dot(&mean, axis)).collect();
        let mut next: Vec<Vec<f32>> = vec![vec![0.0; unit.width]; axes.len()];
        let mut totals = vec![0.0_f32; axes.len()];
        for row in unit.rows() {
            for (((axis, offset), into), total) in axes.iter().zip(&offsets).zip(&mut next).zip(&mut totals) {
                let along = dot(row, axis) - offset;
                *total += along;
                for (sum, value) in into.iter_mut().zip(row) {
                    *sum += along * value;
                }
            }
        }
        for (into, total) in next.iter_mut().zip(&totals) {
            for (sum, value) in into.iter_mut().zip(&mean) {
                *sum -= total * value;
            }
        }
        axes = next;
        orthonormal(&mut axes);
        if axes.is_empty() {
            // All rows are the same point.
            return vec![vec![0.0]; count];
        }
    }
    let offsets: Vec<f32> = axes.iter().map(|axis| dot(&mean, axis)).collect();
    let along =
        |row: &[f32]| axes.iter().zip(&offsets).map(|(axis, offset)| f64::from(dot(row, axis) - offset)).collect();
    let points: Vec<Vec<f64>> = unit.rows().map(along).collect();
    rotate(&points, axes.len(), keep)
}

/// Gram and Schmidt, twice; directions that vanish are dropped.
fn orthonormal(basis: &mut Vec<Vec<f32>>) {
    let mut done: Vec<Vec<f32>> = Vec::with_capacity(basis.len());
    for axis in basis.drain(..) {
        let mut axis: Vec<f64> = axis.into_iter().map(f64::from).collect();
        let before = axis.iter().map(|value| value * value).sum::<f64>().sqrt();
        for _ in 0..2 {
            for other in &done {
                let along: f64 = axis.iter().zip(other).map(|(value, base)| value * f64::from(*base)).sum();
                for (value, base) in axis.iter_mut().zip(other) {
                    *value -= along * f64::from(*base);
                }
            }
        }
        let after = axis.iter().map(|value| value * value).sum::<f64>().sqrt();
        if after > 1e-12 && after > before * 1e-5 {
            done.push(axis.into_iter().map(|value| (value / after) as f32).collect());
        }
    }
    *basis = done;
}

/// Rotates points onto the principal axes of their own subspace, and keeps the first `keep` coordinates.
fn rotate(points: &[Vec<f64>], size: usize, keep: usize) -> Vec<Vec<f64>> {
    let mut table = vec![vec![0.0_f64; size]; size];
    for point in points {
        for (line, x) in table.iter_mut().zip(point) {
            for (cell, y) in line.iter_mut().zip(point) {
                *cell += x * y;
            }
        }
    }
    let (values, vectors) = eigen(table);
    let mut order: Vec<usize> = (0..size).collect();
    let value = |at: usize| values.get(at).copied().unwrap_or(0.0);
    order.sort_by(|one, other| value(*other).total_cmp(&value(*one)));
    order.truncate(keep);
    let coordinate = |point: &[f64], axis: usize| {
        point.iter().zip(&vectors).map(|(x, line)| x * line.get(axis).copied().unwrap_or(0.0)).sum()
    };
    points.iter().map(|point| order.iter().map(|axis| coordinate(point, *axis)).collect()).collect()
}

/// Values and vectors (in columns) of a small symmetric matrix, by Jacobi's rotations.
#[allow(clippy::many_single_char_names)] // the letters of the textbook
fn eigen(mut a: Vec<Vec<f64>>) -> (Vec<f64>, Vec<Vec<f64>>) {
    let n = a.len();
    let get = |a: &[Vec<f64>], i: usize, j: usize| a.get(i).and_then(|line| line.get(j)).copied().unwrap_or(0.0);
    let mut v: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    for _ in 0..60 {
        let all: f64 = a.iter().flatten().map(|x| x * x).sum();
        let diagonal: f64 = (0..n).map(|i| get(&a, i, i).powi(2)).sum();
        if all - diagonal <= all * 1e-24 {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                let off = get(&a, p, q);
                if off == 0.0 {
                    continue;
                }
                let theta = (get(&a, q, q) - get(&a, p, p)) / (2.0 * off);
                let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
                let c = 1.0 / t.hypot(1.0);
                let s = t * c;
                for line in a.iter_mut().chain(v.iter_mut()) {
                    turn_pair(line, p, q, c, s);
                }
                for k in 0..n {
                    let (x, y) = (get(&a, p, k), get(&a, q, k));
                    set(&mut a, p, k, c * x - s * y);
                    set(&mut a, q, k, s * x + c * y);
                }
            }
        }
    }
    ((0..n).map(|i| get(&a, i, i)).collect(), v)
}

#[allow(clippy::many_single_char_names)] // the letters of the textbook
fn turn_pair(line: &mut [f64], p: usize, q: usize, c: f64, s: f64) {
    let (x, y) = (line.get(p).copied().unwrap_or(0.0), line.get(q).copied().unwrap_or(0.0));
    if let Some(cell) = line.get_mut(p) {
        *cell = c * x - s * y;
    }
    if let Some(cell) = line.get_mut(q) {
        *cell = s * x + c * y;
    }
}

fn set(a: &mut [Vec<f64>], i: usize, j: usize, value: f64) {
    if let Some(cell) = a.get_mut(i).and_then(|line| line.get_mut(j)) {
        *cell = value;
    }
}

fn apart(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum()
}

/// A label for each point: the tightest of several starts.
fn cluster(points: &[Vec<f64>], groups: usize, seed: u64) -> Vec<usize> {
    let mut random = Random::new(seed);
    let mut best: Option<(f64, Vec<usize>)> = None;
    for _ in 0..STARTS {
        let (spread, labels) = settle(points, start(points, groups, &mut random));
        if best.as_ref().is_none_or(|(least, _)| spread < *least) {
            best = Some((spread, labels));
        }
    }
    best.map(|(_, labels)| labels).unwrap_or_default()
}

/// k-means++: each centre is a point, drawn by its distance from the centres before it.
fn start(points: &[Vec<f64>], groups: usize, random: &mut Random) -> Vec<Vec<f64>> {
    let Some(first) = points.get(random.below(points.len().max(1))) else { return Vec::new() };
    let mut centres = vec![first.clone()];
    let mut far: Vec<f64> = points.iter().map(|point| apart(point, first)).collect();
    while centres.len() < groups {
        let total: f64 = far.iter().sum();
        if total <= 0.0 {
            break;
        }
        let mut left = random.unit() * total;
        let drawn = far.iter().position(|distance| {
            left -= distance;
            left < 0.0 && *distance > 0.0
        });
        let last = || far.iter().rposition(|distance| *distance > 0.0);
        let Some(point) = drawn.or_else(last).and_then(|at| points.get(at)) else { break };
        for (distance, other) in far.iter_mut().zip(points) {
            *distance = distance.min(apart(other, point));
        }
        centres.push(point.clone());
    }
    centres
}

/// Lloyd's rounds: each point to its nearest centre, each centre to the mean of its points.
fn settle(points: &[Vec<f64>], mut centres: Vec<Vec<f64>>) -> (f64, Vec<usize>) {
    let mut labels = vec![usize::MAX; points.len()];
    let mut spread = 0.0;
    for _ in 0..STEPS {
        let mut moved = false;
        spread = 0.0;
        for (label, point) in labels.iter_mut().zip(points) {
            let mut best = (0, f64::INFINITY);
            for (at, centre) in centres.iter().enumerate() {
                let distance = apart(point, centre);
                if distance < best.1 {
                    best = (at, distance);
                }
            }
            moved |= *label != best.0;
            *label = best.0;
            spread += best.1;
        }
        if !moved {
            break;
        }
        let mut counts = vec![0_usize; centres.len()];
        let mut sums: Vec<Vec<f64>> = centres.iter().map(|centre| vec![0.0; centre.len()]).collect();
        for (label, point) in labels.iter().zip(points) {
            if let (Some(count), Some(sum)) = (counts.get_mut(*label), sums.get_mut(*label)) {
                *count += 1;
                for (total, value) in sum.iter_mut().zip(point) {
                    *total += value;
                }
            }
        }
        for ((centre, sum), count) in centres.iter_mut().zip(sums).zip(counts) {
            // A centre that lost all its points stays where it was.
            if count > 0 {
                *centre = sum.into_iter().map(|total| total / count as f64).collect();
            }
        }
    }
    (spread, labels)
}

#[cfg(test)]
mod tests {
    use super::{super::tests::rows, *};

    /// `each` noisy copies of every centre.
    fn around(centres: &[Vec<f32>], each: usize, noise: f32) -> Vec<Vec<f32>> {
        let width = centres[0].len();
        let noises = rows(7, centres.len() * each, width);
        let copy = |(at, shift): (usize, &Vec<f32>)| {
            centres[at % centres.len()].iter().zip(shift).map(|(value, shift)| value + noise * shift).collect()
        };
        noises.iter().enumerate().map(copy).collect()
    }

    #[test]
    fn b25_clusters_that_the_outline_does_not_know_are_novel() {
        let centres = rows(5, 4, 64);
        let chunks = around(&centres, 20, 0.15);
        let policy = LatentPolicy { clusters: 4, ..LatentPolicy::default() };
        let found = latent(&chunks, &centres[..3].to_vec(), &policy).unwrap();
        assert_eq!(found.len(), 4);
        for cluster in &found {
            assert_eq!(cluster.members.len(), 20);
            let of = cluster.members[0] % 4;
            assert!(cluster.members.iter().all(|member| member % 4 == of), "{cluster:?}");
            assert_eq!(cluster.novel, of == 3, "{}", cluster.similarity);
            if of < 3 {
                assert_eq!(cluster.topic, Some(of));
            }
        }
        assert_eq!(found, latent(&chunks, &centres[..3].to_vec(), &policy).unwrap(), "the same every time");
    }

    #[test]
    fn b25_members_begin_with_the_one_nearest_to_the_centre() {
        let found = latent(&rows(9, 60, 20), &rows(10, 2, 20), &LatentPolicy::default()).unwrap();
        let chunks = rows(9, 60, 20);
        assert_eq!(found.iter().map(|cluster| cluster.members.len()).sum::<usize>(), 60);
        for cluster in &found {
            let near: Vec<f32> =
                cluster.members.iter().map(|at| super::super::cosine(&chunks[*at], &cluster.centre).unwrap()).collect();
            assert!(near.windows(2).all(|two| two[0] >= two[1] - 1e-6), "{near:?}");
        }
    }

    #[test]
    fn components_carry_as_much_as_any_directions_can() {
        // Three strong directions in a space of forty: their variance must be all but kept.
        let strong = rows(11, 3, 40);
        let weights = rows(12, 200, 3);
        let noise = rows(13, 200, 40);
        let chunks: Vec<Vec<f32>> = (0..200)
            .map(|at| {
                (0..40)
                    .map(|j| 1.0 + noise[at][j] * 0.01 + (0..3).map(|k| weights[at][k] * strong[k][j]).sum::<f32>())
                    .collect()
            })
            .collect();
        let checked = Checked::new("chunks", &chunks, &mut None).unwrap();
        let unit = Unit::new(&checked, 40);
        let mean = unit.mean();
        let all: f64 =
            unit.rows().map(|row| row.iter().zip(&mean).map(|(x, m)| f64::from(x - m).powi(2)).sum::<f64>()).sum();
        let kept = |components| reduce(&unit, components, 42).iter().flatten().map(|x| x * x).sum::<f64>() / all;
        assert!(kept(4) > 0.995, "{}", kept(4));
        assert!(kept(1) < kept(2) && kept(2) < kept(3));
        assert!((kept(40) - 1.0).abs() < 1e-4, "{}", kept(40));
    }

    #[test]
    fn b25_few_equal_and_opposite_chunks_are_no_trouble() {
        let none: [Vec<f32>; 0] = [];
        let policy = LatentPolicy::default();
        assert!(latent(&none, &none, &policy).unwrap().is_empty());
        let one = latent(&[vec![1.0, 2.0]], &none, &policy).unwrap();
        assert_eq!(one.len(), 1);
        assert!(one[0].novel && one[0].topic.is_none());
        let equal = latent(&vec![vec![1.0, 2.0]; 30], &[vec![1.0, 2.0]], &policy).unwrap();
        assert_eq!(equal.len(), 1);
        assert_eq!(equal[0].members.len(), 30);
        assert!(!equal[0].novel);
        let opposite = [vec![1.0, 0.0], vec![-1.0, 0.0]];
        let both = latent(&opposite, &none, &LatentPolicy { clusters: 1, ..policy.clone() }).unwrap();
        assert_eq!(both[0].members.len(), 2);
        let narrow = latent(&[vec![1.0], vec![-2.0], vec![3.0]], &none, &policy).unwrap();
        assert_eq!(narrow.iter().map(|cluster| cluster.members.len()).sum::<usize>(), 3);
        let wrong = LatentPolicy { clusters: 0, ..policy.clone() };
        assert_eq!(latent(&none, &none, &wrong).unwrap_err().code, "invalid_value");
        assert_eq!(latent(&[vec![f32::NAN]], &none, &policy).unwrap_err().code, "not_finite");
    }

    #[test]
    fn small_clusters_can_be_left_out() {
        let mut chunks = around(&rows(5, 2, 32), 10, 0.05);
        chunks.push(rows(99, 1, 32).remove(0));
        let policy = LatentPolicy { clusters: 3, least: 2, ..LatentPolicy::default() };
        let none: [Vec<f32>; 0] = [];
        assert_eq!(latent(&chunks, &none, &policy).unwrap().len(), 2);
    }
}
