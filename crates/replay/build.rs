//! Writes the table of the recordings for `src/embedded.rs`: every file below `fixtures/upstreams`,
//! with its text.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

fn main() -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/upstreams");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut table = String::from("&[\n");
    for upstream in sorted(&folder)?.iter().filter(|path| path.is_dir()) {
        println!("cargo::rerun-if-changed={}", upstream.display());
        for file in sorted(upstream)? {
            let name = file.strip_prefix(&folder).unwrap_or(&file);
            table.push_str(&format!("    ({name:?}, include_str!({file:?})),\n"));
        }
    }
    table.push(']');
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("recordings.rs"), table)
}

fn sorted(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut paths = entries.collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}
