//! What a research run measures, for `loopwright.analysis`: vectors of `NumPy` are read where they lie.
//!
//! Only arrays that are really `NumPy`'s are trusted with an address; whatever else is given is copied. The interpreter
//! is free for others meanwhile, so nobody may write into an array while it is measured, as with `NumPy` itself.

use pyo3::{
    prelude::*,
    sync::PyOnceLock,
    types::{PyBytes, PyDict, PyList, PyTuple, PyTupleMethods},
};

use super::{errors, messages::read};
use loopwright_retrieve::analysis::{
    self, Coverage, Cut, LatentPolicy, Matrix, Rows, SelectPolicy, StopPolicy, TrendPolicy,
};

fn or_raise<T>(outcome: loopwright_base::error::Result<T>) -> PyResult<T> {
    outcome.map_err(|error| errors::exception(&error))
}

/// Values of vectors, lent by Python or owned.
enum VectorValues {
    Own(Vec<f32>),
    /// Values in an array that [`PyVectors`] keeps alive: address and number.
    Lent(usize, usize),
}

impl VectorValues {
    fn get(&self) -> &[f32] {
        match self {
            Self::Own(values) => values,
            Self::Lent(_, 0) => &[],
            Self::Lent(address, count) => {
                let start = std::ptr::with_exposed_provenance::<f32>(*address);
                // SAFETY: NumPy says that this many aligned values lie there; the array is kept as long as `self`, and
                // every pattern of bits is an `f32`.
                #[allow(unsafe_code)]
                unsafe {
                    std::slice::from_raw_parts(start, *count)
                }
            }
        }
    }
}

enum Shape {
    Matrix { values: VectorValues, count: usize, width: usize },
    Rows(Vec<VectorValues>),
}

/// Vectors from Python.
struct PyVectors {
    shape: Shape,
    /// Arrays that are read in place.
    _kept: Vec<Py<PyAny>>,
}

impl Rows for PyVectors {
    fn count(&self) -> usize {
        match &self.shape {
            Shape::Matrix { count, .. } => *count,
            Shape::Rows(rows) => rows.len(),
        }
    }

    fn row(&self, at: usize) -> &[f32] {
        match &self.shape {
            Shape::Rows(rows) => rows.get(at).map_or(&[], VectorValues::get),
            Shape::Matrix { values, count, width } => {
                let start = at.saturating_mul(*width);
                match values.get().get(start..start.saturating_add(*width)) {
                    Some(row) if at < *count => row,
                    _ => &[],
                }
            }
        }
    }
}

/// `NumPy`, if it is loaded.
fn numpy(py: Python<'_>) -> PyResult<Option<Bound<'_, PyAny>>> {
    static MODULES: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    let modules =
        MODULES.get_or_try_init(py, || Ok::<_, PyErr>(py.import("sys")?.getattr("modules")?.cast_into()?.unbind()))?;
    modules.bind(py).get_item("numpy")?.filter(|module| !module.is_none()).map_or(Ok(None), |module| Ok(Some(module)))
}

/// An array of `NumPy`: its values and shape, in place if they lie there as they are needed.
fn array<'py>(
    numpy: &Bound<'py, PyAny>,
    value: &Bound<'py, PyAny>,
    kept: &mut Vec<Py<PyAny>>,
) -> PyResult<Option<(VectorValues, Vec<usize>)>> {
    let class = numpy.getattr("ndarray")?;
    if !value.is_instance(&class)? {
        return Ok(None);
    }
    // From the class: a subclass may say what it likes about itself.
    let interface = class.getattr("__array_interface__")?;
    let look = |value: &Bound<'py, PyAny>| -> PyResult<_> {
        let found = interface.call_method1("__get__", (value,))?;
        let (address, _): (usize, bool) = found.get_item("data")?.extract()?;
        let kind: String = found.get_item("typestr")?.extract()?;
        let shape: Vec<usize> = found.get_item("shape")?.extract()?;
        let whole = found.get_item("strides")?.is_none();
        Ok((address, kind, shape, whole))
    };
    let native = if cfg!(target_endian = "little") { "<f4" } else { ">f4" };
    let fits = |address: usize, kind: &str, whole: bool| {
        kind == native && whole && address.is_multiple_of(align_of::<f32>()) && address != 0
    };
    let (mut address, kind, mut shape, whole) = look(value)?;
    let mut owner = value.clone();
    if !matches!(kind.as_bytes().get(1), Some(b'f' | b'i' | b'u')) {
        let message = format!("an array of {kind} holds no vectors");
        return Err(errors::usage("invalid_value", message, "give numbers: an array of floats or integers"));
    }
    if !fits(address, &kind, whole) {
        let options = PyDict::new(value.py());
        options.set_item("dtype", "=f4")?;
        options.set_item("order", "C")?;
        options.set_item("copy", true)?;
        options.set_item("subok", false)?;
        owner = numpy.call_method("array", (value,), Some(&options))?;
        let (moved, kind, same, whole) = look(&owner)?;
        if !fits(moved, &kind, whole) {
            return Err(errors::usage(
                "invalid_value",
                "the array can't be read as 32-bit floats",
                "convert it first: numpy.asarray(vectors, dtype='float32')",
            ));
        }
        (address, shape) = (moved, same);
    }
    let Some(count) = shape.iter().try_fold(1_usize, |all, side| all.checked_mul(*side)) else {
        return Err(errors::usage("invalid_value", "the array is too large", "give fewer vectors at once"));
    };
    kept.push(owner.unbind());
    Ok(Some((VectorValues::Lent(address, count), shape)))
}

fn one_vector<'py>(
    numpy: Option<&Bound<'py, PyAny>>,
    value: &Bound<'py, PyAny>,
    name: &str,
    kept: &mut Vec<Py<PyAny>>,
) -> PyResult<VectorValues> {
    if let Some(numpy) = numpy
        && let Some((values, shape)) = array(numpy, value, kept)?
    {
        if shape.len() != 1 {
            let message = format!("{name} holds an array of {} dimensions where a vector belongs", shape.len());
            return Err(errors::usage("ragged", message, "give one vector, an array of one dimension"));
        }
        return Ok(values);
    }
    value.extract::<Vec<f32>>().map(VectorValues::Own).map_err(|error| {
        let message = format!("{name} holds what is no vector of numbers: {}", error.value(value.py()));
        errors::usage("invalid_value", message, "give numbers, all of the same count")
    })
}

/// Vectors: an array of two dimensions; bytes of native 32-bit floats with their number; a list of vectors.
fn given(value: &Bound<'_, PyAny>, name: &str) -> PyResult<PyVectors> {
    let numpy = numpy(value.py())?;
    let mut kept = Vec::new();
    if let Some(numpy) = &numpy
        && let Some((values, shape)) = array(numpy, value, &mut kept)?
    {
        return match shape[..] {
            [count, width] => Ok(PyVectors { shape: Shape::Matrix { values, count, width }, _kept: kept }),
            [0] => Ok(PyVectors { shape: Shape::Rows(Vec::new()), _kept: kept }),
            _ => {
                let message = format!("{name} is an array of {} dimensions, not of 2", shape.len());
                Err(errors::usage("ragged", message, "give one vector in each row"))
            }
        };
    }
    if let Ok(pair) = value.cast::<PyTuple>()
        && let Ok((bytes, count)) = pair.extract::<(Bound<'_, PyBytes>, usize)>()
    {
        let (whole, rest) = bytes.as_bytes().as_chunks::<4>();
        let values: Vec<f32> = whole.iter().map(|four| f32::from_ne_bytes(*four)).collect();
        let width = values.len().checked_div(count).unwrap_or(0);
        if !rest.is_empty() {
            return Err(errors::usage(
                "ragged",
                format!("{name} holds a part of a number"),
                "give whole 32-bit floats, four bytes each",
            ));
        }
        or_raise(Matrix::new(&values, count, width).map(|_| ()))?;
        return Ok(PyVectors { shape: Shape::Matrix { values: VectorValues::Own(values), count, width }, _kept: kept });
    }
    let list = match value.cast::<PyList>() {
        Ok(list) => list.clone(),
        Err(_) => value.cast::<PyTuple>().map(PyTupleMethods::to_list).map_err(|_| {
            let kind = value.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
            errors::usage(
                "invalid_value",
                format!("{name} is {kind}, not vectors"),
                "give a list of vectors, or an array of two dimensions",
            )
        })?,
    };
    let rows: PyResult<Vec<VectorValues>> =
        list.iter().map(|row| one_vector(numpy.as_ref(), &row, name, &mut kept)).collect();
    Ok(PyVectors { shape: Shape::Rows(rows?), _kept: kept })
}

/// Chunk, topic, score, relevance, novelty.
type Selected = (usize, usize, f32, f32, f32);

/// The best chunks of a cycle; `policy` as JSON text.
#[pyfunction]
pub(super) fn analysis_select(
    py: Python<'_>,
    hyde: &Bound<'_, PyAny>,
    chunks: &Bound<'_, PyAny>,
    kept: &Bound<'_, PyAny>,
    policy: &str,
) -> PyResult<Vec<Selected>> {
    let policy: SelectPolicy = read(policy, "policy")?;
    let (hyde, chunks, kept) = (given(hyde, "hyde")?, given(chunks, "chunks")?, given(kept, "kept")?);
    let chosen = or_raise(py.detach(|| analysis::select(&hyde, &chunks, &kept, &policy)))?;
    Ok(chosen.iter().map(|one| (one.chunk, one.topic, one.score, one.relevance, one.novelty)).collect())
}

/// The best cosine of each topic.
#[pyfunction]
pub(super) fn analysis_coverage(
    py: Python<'_>,
    topics: &Bound<'_, PyAny>,
    chunks: &Bound<'_, PyAny>,
) -> PyResult<Vec<f32>> {
    let (topics, chunks) = (given(topics, "topics")?, given(chunks, "chunks")?);
    or_raise(py.detach(|| analysis::coverage(&topics, &chunks)))
}

/// How much coverage changed, over the names that both have.
#[pyfunction]
pub(super) fn analysis_gain(prev: Vec<(String, f32)>, now: Vec<(String, f32)>) -> Option<f32> {
    let coverage = |pairs: Vec<(String, f32)>| {
        let (names, covered): (Vec<String>, Vec<f32>) = pairs.into_iter().unzip();
        Coverage::new(names, covered)
    };
    analysis::gain(&coverage(prev), &coverage(now))
}

/// The trend's name and words.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // what Python gives is converted
pub(super) fn analysis_trend(gains: Vec<f32>, policy: &str) -> PyResult<(&'static str, &'static str)> {
    let policy: TrendPolicy = read(policy, "policy")?;
    let trend = analysis::trend(&gains, &policy);
    Ok((trend.name(), trend.words()))
}

/// The name and words of the rule that says it is enough.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // what Python gives is converted
pub(super) fn analysis_enough(
    history: Vec<f32>,
    policy: &str,
    accepted: Option<usize>,
    claims: Option<usize>,
) -> PyResult<Option<(&'static str, &'static str)>> {
    let policy: StopPolicy = read(policy, "policy")?;
    or_raise(policy.epsilon())?;
    Ok(analysis::enough(&history, &policy, accepted, claims).map(|rule| (rule.name(), rule.words())))
}

/// Members, centre, topic, similarity, novel.
type Cluster = (Vec<usize>, Vec<f32>, Option<usize>, f32, bool);

/// Clusters of chunks, held against an outline.
#[pyfunction]
pub(super) fn analysis_latent(
    py: Python<'_>,
    chunks: &Bound<'_, PyAny>,
    outline: &Bound<'_, PyAny>,
    policy: &str,
) -> PyResult<Vec<Cluster>> {
    let policy: LatentPolicy = read(policy, "policy")?;
    let (chunks, outline) = (given(chunks, "chunks")?, given(outline, "outline")?);
    let found = or_raise(py.detach(|| analysis::latent(&chunks, &outline, &policy)))?;
    Ok(found.into_iter().map(|one| (one.members, one.centre, one.topic, one.similarity, one.novel)).collect())
}

/// The nearest row and its cosine.
#[pyfunction]
pub(super) fn analysis_nearest(
    py: Python<'_>,
    to: &Bound<'_, PyAny>,
    rows: &Bound<'_, PyAny>,
) -> PyResult<Option<(usize, f32)>> {
    let mut kept = Vec::new();
    let to = one_vector(numpy(py)?.as_ref(), to, "to", &mut kept)?;
    let rows = given(rows, "rows")?;
    or_raise(py.detach(|| analysis::nearest(to.get(), &rows)))
}

/// The places of the vectors that will do.
#[pyfunction]
#[pyo3(signature = (rows, width=None))]
pub(super) fn analysis_usable(py: Python<'_>, rows: &Bound<'_, PyAny>, width: Option<usize>) -> PyResult<Vec<usize>> {
    let rows = given(rows, "rows")?;
    Ok(py.detach(|| analysis::usable(&rows, width)))
}

/// A threshold as a cosine, or as a difference of cosines.
#[pyfunction]
pub(super) fn analysis_cut(cut: &str, background: Option<&Background>, difference: bool) -> PyResult<f32> {
    let cut: Cut = read(cut, "threshold")?;
    let background = background.map(|background| &background.0);
    or_raise(if difference { cut.width(background) } else { cut.at(background) })
}

/// How alike two texts are that have nothing to do with each other.
#[pyclass(frozen, eq, module = "loopwright._core")]
#[derive(PartialEq)]
pub(super) struct Background(analysis::Background);

#[pymethods]
impl Background {
    #[new]
    #[pyo3(signature = (mean, deviation, pairs=0))]
    fn new(mean: f32, deviation: f32, pairs: usize) -> PyResult<Self> {
        let background = analysis::Background { mean, deviation, pairs };
        or_raise(background.check())?;
        Ok(Self(background))
    }

    /// Measures it in vectors of a corpus: all pairs of a small one, 20,000 of a large one.
    #[staticmethod]
    fn measure(py: Python<'_>, vectors: &Bound<'_, PyAny>) -> PyResult<Self> {
        let vectors = given(vectors, "vectors")?;
        or_raise(py.detach(|| analysis::Background::measure(&vectors))).map(Self)
    }

    /// The mean cosine of two texts.
    #[getter]
    fn mean(&self) -> f32 {
        self.0.mean
    }

    /// Its standard deviation.
    #[getter]
    fn deviation(&self) -> f32 {
        self.0.deviation
    }

    /// Pairs that were looked at.
    #[getter]
    fn pairs(&self) -> usize {
        self.0.pairs
    }

    /// How many standard deviations a cosine lies above the background.
    fn z(&self, cosine: f32) -> f32 {
        self.0.z(cosine)
    }

    /// The cosine that lies so many standard deviations above the background.
    fn cosine(&self, z: f32) -> f32 {
        self.0.cosine(z)
    }

    fn __getnewargs__(&self) -> (f32, f32, usize) {
        (self.0.mean, self.0.deviation, self.0.pairs)
    }

    fn __repr__(&self) -> String {
        format!("Background(mean={:.3}, deviation={:.3}, pairs={})", self.0.mean, self.0.deviation, self.0.pairs)
    }
}
