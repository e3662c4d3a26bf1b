"""An answer or a whole report in every form: terminal, JSON, HTML, pictures, Markdown, JUnit. No statistics."""
