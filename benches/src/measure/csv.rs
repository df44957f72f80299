//! Rows of numbers as CSV.

/// Joins fields to a line with its end. A field with a comma, a quote or a line break is quoted.
pub fn line<T: AsRef<str>>(fields: impl IntoIterator<Item = T>) -> String {
    let fields: Vec<String> = fields.into_iter().map(|text| field(text.as_ref())).collect();
    fields.join(",") + "\n"
}

/// Returns the text of a number, and no text where there is no number.
pub fn or_empty(value: Option<impl ToString>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

fn field(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_with_a_comma_is_one_field() {
        assert_eq!(line(["a", "a,b", "say \"x\""]), "a,\"a,b\",\"say \"\"x\"\"\"\n");
    }
}
