//! Runs `docs/owner.mjs`, as `docs/OWNERS.md` tells owners to, against `api-server demo`. The chain
//! of the demo says whether the script tells the truth.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use alloy_primitives::utils::parse_units;
use alloy_primitives::{Address, U256};
use dev_chain::xlayer;
use judges::{Account, ApiServer, Client, Order, OrderOutcome, Rpc, Toolchain, fence_cli, run};
use serde_json::Value;
use test_support::eventually;
use tokio::process::Command;

use crate::base_chain::balance;

const PAGE: &str = include_str!("../../../../docs/OWNERS.md");
const SCRIPT: &str = include_str!("../../../../docs/owner.mjs");
const PACKAGES: &str = include_str!("../../js/package.json");
/// The last line that the demo prints.
const LAST: &str = "/delegation/status";

/// The owner's folder: the script, and the packages that the page installs.
fn folder(toolchain: &Toolchain) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("owner.mjs"), SCRIPT).unwrap();
    let packages = toolchain.js_package("viem");
    let packages = packages.parent().unwrap();
    symlink(packages, folder.path().join("node_modules")).unwrap();
    folder
}

/// The value that the demo prints for a variable.
fn printed(demo: &str, name: &str) -> String {
    let mut words = demo.split_whitespace();
    let value = words.find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    value.unwrap_or_else(|| panic!("{name}: {demo}")).to_owned()
}

fn script(demo: &str, folder: &Path) -> Command {
    let mut command = Command::new("node");
    command.arg("owner.mjs").current_dir(folder);
    for name in ["API_URL", "OWNER_KEY"] {
        command.env(name, printed(demo, name));
    }
    command
}

/// The printed command of the operator, in the owner's folder.
fn operator(demo: &ApiServer, printed: &str, folder: &Path) -> Command {
    let lines = printed.lines();
    let mut words = lines.filter_map(|line| line.strip_prefix("api-server "));
    let mut command = demo.command();
    command.args(words.next().unwrap().split(' '));
    command.current_dir(folder);
    command
}

/// The node of the chain on which the demo's wallets act.
fn node(demo: &ApiServer, printed: &str, folder: &Path) -> Rpc {
    let operator = operator(demo, printed, folder);
    let mut arguments = operator.as_std().get_args();
    arguments.find(|argument| *argument == "--config").unwrap();
    let config = fs::read_to_string(arguments.next().unwrap()).unwrap();
    let config: toml::Table = toml::from_str(&config).unwrap();
    Rpc::new(config["settlement"]["rpc_url"].as_str().unwrap())
}

/// A line without what differs from run to run: the wallet, and the interest of some seconds.
fn normal(line: &str) -> String {
    let word = |word: &str| match word.parse::<f64>() {
        Ok(number) => format!("{number:.3}"),
        Err(_) if word.starts_with("0x") => "0x…".to_owned(),
        Err(_) => word.to_owned(),
    };
    line.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_owners_script_goes_from_an_empty_wallet_to_its_key() {
    let toolchain = Toolchain::from_env().unwrap();
    let (demo, text) = ApiServer::demo(LAST).await.unwrap();
    let folder = folder(&toolchain);
    let file = |name: &str| -> PathBuf { folder.path().join(name) };
    let rpc = node(&demo, &text, folder.path());
    let owner = Account::BUYER.address;
    let before = balance(&rpc, xlayer::USDT0, owner).await;

    let ran = run(script(&text, folder.path()), b"");
    let handed_over = async {
        let request = async || file("export-request.json").exists().then_some(());
        eventually("the request", request).await;
        run(operator(&demo, &text, folder.path()), b"")
            .await
            .unwrap();
    };
    let (ran, ()) = tokio::join!(ran, handed_over);
    let ran = ran.unwrap();

    let (_, shown) = PAGE.split_once("\n```text\n").unwrap();
    let (shown, _) = shown.split_once("\n```\n").unwrap();
    let lines = |text: &str| text.trim().lines().map(normal).collect::<Vec<_>>();
    assert_eq!(lines(shown), lines(&ran), "docs/OWNERS.md: {ran}");

    let value = |label: &str| -> String {
        let mut lines = ran.lines();
        let value = lines.find_map(|line| line.strip_prefix(label)).unwrap();
        value.split_whitespace().next().unwrap().to_owned()
    };
    let wallet: Address = value("sub-wallet").parse().unwrap();
    let key = fs::read_to_string(file("wallet-key")).unwrap();
    let key = keystore::Key::from_text(key.trim()).unwrap();
    assert_eq!(key.address(), wallet);
    for secret in ["wallet-key", "export-key"] {
        let mode = file(secret).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{secret}");
    }
    for token in [xlayer::USDG, xlayer::USDT0, xlayer::A_USDG] {
        assert_eq!(balance(&rpc, token, wallet).await, U256::ZERO, "{token}");
    }
    let (_, swapped) = ran.split_once("swapped      20 USDG for ").unwrap();
    let swapped = swapped.split(' ').next().unwrap();
    let atoms = parse_units(swapped, 6).unwrap().get_absolute();
    let after = balance(&rpc, xlayer::USDT0, owner).await;
    assert_eq!(after - before, atoms, "{ran}");

    // The service signs nothing with the wallet from now on.
    let url = printed(&text, "API_URL") + "/sub-wallet";
    let paid = Client::Fetch.pay(&toolchain, &Order::get(url)).await;
    let OrderOutcome::Answered(answer) = paid.unwrap() else {
        panic!("the client would not pay")
    };
    let answer: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(answer["data"]["custody"]["exported"], true, "{answer}");
    assert_eq!(answer["data"]["policy"]["signs"], serde_json::json!([]));

    // An interrupted run goes on where the files are.
    fs::remove_file(file("wallet-key")).unwrap();
    let again = run(script(&text, folder.path()), b"").await.unwrap();
    assert_eq!(again.lines().count(), 3, "{again}");
    assert!(file("wallet-key").exists());
    demo.terminate().await.ok();
}

/// The settings that the demo prints are those with which `fence-cli` asks its fence.
#[tokio::test(flavor = "multi_thread")]
async fn the_demo_prints_the_settings_of_its_fence() {
    let (demo, text) = ApiServer::demo(LAST).await.unwrap();
    let home = tempfile::tempdir().unwrap();
    let mut status = Command::new(fence_cli().await.unwrap());
    status.arg("status").env("HOME", home.path());
    status.env_remove("XDG_CONFIG_HOME");
    for name in ["SVC_FENCE_URL", "SVC_FENCE_PROJECT_ID", "SVC_FENCE_SALT"] {
        status.env(name, printed(&text, name));
    }
    let told = run(status, b"").await.unwrap();
    let project = printed(&text, "SVC_FENCE_PROJECT_ID");
    assert!(told.contains(&project), "{told}");
    demo.terminate().await.ok();
}

/// The page and the script name the versions with which they are tested.
#[test]
fn the_versions_of_the_packages_are_the_tested_ones() {
    let packages: Value = serde_json::from_str(PACKAGES).unwrap();
    for text in [PAGE, SCRIPT] {
        let (_, line) = text.split_once("npm install ").unwrap();
        let line = line.lines().next().unwrap();
        assert_eq!(line.split(' ').count(), 5, "{line}");
        for package in line.split(' ') {
            let (name, version) = package.rsplit_once('@').unwrap();
            assert_eq!(packages["dependencies"][name], version, "{name}");
        }
    }
}
