//! Checks that `docs/CHECKS.md` is generated from the tables. `cargo xtask docs` writes it again.

use std::{fmt::Write as _, path::Path};

use calldata_checks::{
    Facts, bridge::BridgeFacts, perp_order::PerpOrderFacts, pm_order::PmOrderFacts, swap::SwapFacts,
};
use plan_builder::{Judgement, Refusal};

#[test]
fn generated_docs_are_those_of_the_tables() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/CHECKS.md");
    let text = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    if written != text {
        panic!("docs/CHECKS.md is out of date: run `cargo xtask docs`");
    }
}

fn page() -> String {
    let mut text = String::from(
        "# Checks of the agent rail

A plan comes out only if every check of its rail holds, in this order; otherwise the refusal's `check` is the name of the
first that does not. The verifier runs the same tables; a check that holds only by readings that a stranger's plan states
establishes nothing for it ([PLANS.md](PLANS.md#readings-of-a-stranger)). Written by `cargo xtask docs` from the tables; what
plans look like is in [PLANS.md](PLANS.md).
",
    );
    table::<SwapFacts>(&mut text, "Swap (`svc_prepare_swap`)");
    let judged = Judgement::output_price(true, "");
    write!(
        text,
        "\nA swap plan also states a judgement ([PLANS.md](PLANS.md#judgements)). It is no check, and no verifier can repeat it.\n\n\
         | Judgement | Establishes for whoever believes the server |\n|---|---|\n| `{}` | {} |\n",
        judged.name(),
        judged.establishes()
    )
    .unwrap();
    table::<BridgeFacts>(&mut text, "Bridge (`svc_prepare_bridge`)");
    table::<PmOrderFacts>(
        &mut text,
        "Prediction-market order (`svc_prepare_pm_order`)",
    );
    table::<PerpOrderFacts>(&mut text, "Perpetuals order (`svc_prepare_perp_order`)");
    text.push_str(
        "\n## Other refusals\n\nNames in `check` that are no row of a table.\n\n| Name | Meaning |\n|---|---|\n",
    );
    for (name, meaning) in Refusal::NAMES {
        writeln!(text, "| `{name}` | {meaning} |").unwrap();
    }
    text
}

fn table<F: Facts>(text: &mut String, title: &str) {
    write!(text, "\n## {title}\n\n| Check | Establishes |\n|---|---|\n").unwrap();
    for check in F::CHECKS {
        writeln!(text, "| `{}` | {} |", check.name, check.establishes).unwrap();
    }
}
