//! `docs/wallet_key.py` recovers a wallet's key from its file and the operator's secret, with
//! nothing of this project.

use std::path::{Path, PathBuf};

use judges::{JudgeError, Toolchain, run};

const NAME: &str = "eip155-196-0x70997970c51812dc3a010c7d01b50e0d17dc79c8.json";
const SECRET: &str = "correct horse battery staple\n";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

async fn recover(toolchain: &Toolchain, text: &str, secret: &str) -> Result<String, JudgeError> {
    let folder = tempfile::tempdir().unwrap();
    let (file, secret_file) = (folder.path().join(NAME), folder.path().join("secret"));
    std::fs::write(&file, text).unwrap();
    std::fs::write(&secret_file, secret).unwrap();
    let mut command = toolchain.python_cryptography();
    command.arg(repository().join("docs/wallet_key.py"));
    command.arg(file).arg(secret_file);
    run(command, b"").await
}

/// `custody` opens the same file (`the_documented_file_opens`).
#[tokio::test]
async fn the_script_recovers_the_key_of_one_file() {
    let toolchain = Toolchain::from_env().unwrap();
    let text = std::fs::read_to_string(repository().join("fixtures/wallets").join(NAME)).unwrap();
    let recovered = recover(&toolchain, &text, SECRET).await.unwrap();
    let expected = format!(
        "owner eip155:196:0x70997970C51812dc3A010C7d01b50e0d17dc79C8 address \
         0x17c5185167401ed00cf5f5b2fc97d9bbfdb7d025 key 0x{}",
        "42".repeat(32)
    );
    assert_eq!(recovered.trim_end(), expected);
    for (from, to) in [
        ("0x7099", "0x3C44"),
        ("0x17c5", "0x17c6"),
        ("1795600000", "1795600001"),
        ("0x5252", "0x5253"),
        ("0x9bef", "0x9bee"),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        assert!(
            recover(&toolchain, &changed, SECRET).await.is_err(),
            "{from}"
        );
    }
    assert!(recover(&toolchain, &text, "another").await.is_err());
}
