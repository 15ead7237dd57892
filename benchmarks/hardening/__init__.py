"""Test how abound and other common formats handle damaged and malicious files."""
