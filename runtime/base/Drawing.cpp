#include "runtime/base/Drawing.h"

#include <cstdio>
#include <string_view>

namespace hector {

/// A coordinate without needless digits.
static std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f", value);
  std::string digits = text;
  return digits.ends_with(".0") ? digits.substr(0, digits.size() - 2) : digits;
}

static std::string escaped(const std::string &text) {
  std::string result;
  for (char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else
      result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return result;
}

void Drawing::text(double x, double y, const std::string &content, Style style) {
  body += "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" font-size=\"" + number(style.size) + "\" fill=\"" +
          style.fill + "\"";
  if (std::string_view(style.anchor) != "start")
    body += " text-anchor=\"" + std::string(style.anchor) + "\"";
  if (style.bold)
    body += " font-weight=\"600\"";
  body += ">" + escaped(content) + "</text>\n";
}

void Drawing::box(double x, double y, double width, double height, const char *fill, double radius) {
  body += "<rect x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" + number(width) + "\" height=\"" +
          number(height) + "\" fill=\"" + fill + "\"";
  if (radius > 0)
    body += " rx=\"" + number(radius) + "\"";
  body += "/>\n";
}

void Drawing::line(double x1, double y1, double x2, double y2, const char *colour) {
  body += "<line x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" + number(x2) + "\" y2=\"" + number(y2) +
          "\" stroke=\"" + colour + "\"/>\n";
}

void Drawing::dot(double x, double y, double radius, const char *fill) {
  body += "<circle cx=\"" + number(x) + "\" cy=\"" + number(y) + "\" r=\"" + number(radius) + "\" fill=\"" + fill +
          "\"/>\n";
}

void Drawing::path(std::span<const Point> points, const char *colour, double width) {
  body += "<polyline fill=\"none\" stroke=\"" + std::string(colour) + "\" stroke-width=\"" + number(width) +
          "\" stroke-linejoin=\"round\" points=\"";
  for (size_t i = 0; i < points.size(); ++i)
    body += (i > 0 ? " " : "") + number(points[i].x) + "," + number(points[i].y);
  body += "\"/>\n";
}

std::string Drawing::finish(double width, double height, const std::string &title) const {
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(width) + "\" height=\"" + number(height) +
         "\" viewBox=\"0 0 " + number(width) + " " + number(height) +
         "\" font-family=\"system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif\">\n<title>" + escaped(title) +
         "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n" + body + "</svg>\n";
}

}  // namespace hector
