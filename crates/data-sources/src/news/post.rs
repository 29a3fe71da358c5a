//! The author and the address of a post on X.

/// The name of an account on X: at most fifteen ASCII letters, digits and underscores.
pub(crate) fn x_handle(text: &str) -> Option<String> {
    let text = text.trim().trim_start_matches('@');
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!text.is_empty() && text.len() <= 15 && text.chars().all(plain)).then(|| text.to_owned())
}

/// The address of a post from its account and number. It is built here, so that no other address
/// can slip in.
pub(crate) fn post_url(handle: &str, id: &str) -> Option<String> {
    let number = !id.is_empty() && id.len() <= 20 && id.bytes().all(|byte| byte.is_ascii_digit());
    number.then(|| format!("https://x.com/{handle}/status/{id}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_and_posts_have_one_form() {
        assert_eq!(x_handle(" @kol_one ").as_deref(), Some("kol_one"));
        for bad in [
            "",
            "@",
            "a b",
            "kol/one",
            "кol_one",
            "sixteen_letters_x",
            "kol?x=1",
        ] {
            assert_eq!(x_handle(bad), None, "{bad}");
        }
        assert_eq!(
            post_url("a", "199").as_deref(),
            Some("https://x.com/a/status/199")
        );
        for bad in ["", "1/../../evil", "12a", "123456789012345678901"] {
            assert_eq!(post_url("a", bad), None, "{bad}");
        }
    }
}
