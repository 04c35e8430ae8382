//! Linker arguments for an extension module that isn't built by maturin.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
