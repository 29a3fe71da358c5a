//! Attacks on paid calls. Each is refused by name and free of charge.

mod credit;
mod hanging_up;
mod look_up;
mod payments;
mod private_answers;
mod proof;
mod recognition;
mod repetitions;
mod requests;
mod wallets;

use std::path::{Path, PathBuf};

use api_server::Config;

use crate::support::weakly_stretched;

/// Gives a server wallets on its chain of payments.
fn custody(config: &mut Config, wallets: PathBuf, rpc: &str) {
    config.custody = Some(weakly_stretched(wallets, "a secret"));
    config.wallets.chains = vec![196];
    let table = config.chains.0.entry("196".to_owned()).or_default();
    table.rpc_urls = vec![rpc.to_owned()];
    table.mode = None;
}

/// Counts the wallets below a test's folder.
fn wallets_in(folder: &Path) -> usize {
    let files = std::fs::read_dir(folder.join("wallets")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("eip155-")).count()
}
