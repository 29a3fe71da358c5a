//! Files that only their owner may read, because they contain payments and paid answers.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io,
    path::Path,
};

/// Creates a file and its folder if they are missing, and removes other users' access to the file.
pub(super) fn create(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent()
        && !folder.as_os_str().is_empty()
        && !folder.exists()
    {
        builder().create(folder)?;
    }
    let file = options().open(path)?;
    restrict(&file)
}

fn builder() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Opens or creates a file that only its owner may read and write.
pub(super) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Removes other users' access to an existing file. SQLite gives the files beside it the same mode.
#[cfg(unix)]
fn restrict(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mut permissions = file.metadata()?.permissions();
    if permissions.mode() & 0o077 != 0 {
        permissions.set_mode(0o600);
        file.set_permissions(permissions)?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn restrict(_: &File) -> io::Result<()> {
    Ok(())
}
